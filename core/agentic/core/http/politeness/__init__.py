"""Rates, turns and robots.txt: hosts are asked politely."""
