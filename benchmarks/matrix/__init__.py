"""Faulty and healthy trainings, recorded in msprobe's layout: what the first divergence is measured on."""
