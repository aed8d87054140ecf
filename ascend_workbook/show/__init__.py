"""How a report looks: text, HTML, charts, widgets. Values are computed elsewhere."""
