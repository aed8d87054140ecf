"""A profile as a timeline: one step in detail (step), every event by time, lane and name (index), the local page."""
