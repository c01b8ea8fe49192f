"""A guestbook: Flask in front, rows in the PostgreSQL database that DATABASE_URL names."""

import os
import time

import psycopg
from flask import Flask, redirect, render_template, request, url_for
from psycopg.rows import dict_row

app = Flask(__name__)
title = os.environ.get("GUESTBOOK_TITLE", "Guestbook")


def connect():
    return psycopg.connect(os.environ["DATABASE_URL"], row_factory=dict_row)


def create_table():
    """Waits while the database recovers from a crash: it listens before it answers."""
    for attempt in range(60):
        try:
            with connect() as db:
                db.execute(
                    """CREATE TABLE IF NOT EXISTS entry (
                         id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
                         name text NOT NULL,
                         message text NOT NULL,
                         written timestamptz NOT NULL DEFAULT now())"""
                )
            return
        except psycopg.OperationalError:
            if attempt == 59:
                raise
            time.sleep(0.5)


create_table()


@app.get("/")
def index():
    with connect() as db:
        entries = db.execute("SELECT * FROM entry ORDER BY id DESC LIMIT 100").fetchall()
    return render_template("index.html", title=title, entries=entries)


@app.post("/")
def write():
    name = request.form.get("name", "").strip()[:60] or "Somebody"
    message = request.form.get("message", "").strip()[:1000]
    if message:
        with connect() as db:
            db.execute("INSERT INTO entry (name, message) VALUES (%s, %s)", (name, message))
    return redirect(url_for("index"), code=303)


@app.get("/entries.json")
def entries_json():
    with connect() as db:
        return db.execute("SELECT id, name, message, written FROM entry ORDER BY id").fetchall()
