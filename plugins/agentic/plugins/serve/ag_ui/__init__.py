"""Agents behind the AG-UI protocol: runs outlive their readers, who continue with ``Last-Event-ID``."""
