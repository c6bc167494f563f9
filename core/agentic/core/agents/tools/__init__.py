"""Tools of agents: functions, actors, workflows and other agents, as a model can call them."""
