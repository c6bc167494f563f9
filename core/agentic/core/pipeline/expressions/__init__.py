"""What may stand in a spec's values: references and JMESPath, with limits."""
