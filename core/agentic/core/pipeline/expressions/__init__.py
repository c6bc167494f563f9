"""Values in a spec that are evaluated: references and JMESPath, with limits."""
