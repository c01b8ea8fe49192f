"""The client of openapi-python-client. Arguments: the address of the service and a token."""

import json
import sys

from client import AuthenticatedClient
from client.api.access import get_me
from client.api.projects import create_project, get_project, list_projects
from client.models import Problem, Project, ProjectCreate, ProjectPage, TokenIdentity

_, base_url, token = sys.argv
with AuthenticatedClient(base_url=base_url, token=token) as client:
    listed = list_projects.sync(client=client, limit=10)
    assert isinstance(listed, ProjectPage), listed
    body = ProjectCreate(name="Made by Python", start=False)
    made = create_project.sync(client=client, body=body, wait=30)
    # With dry_run it would be the plan.
    assert isinstance(made, Project), made
    read = get_project.sync(made.id, client=client)
    assert isinstance(read, Project), read
    missing = get_project.sync("nowhere", client=client)
    assert isinstance(missing, Problem), missing
    me = get_me.sync(client=client)
    # The tag of the answer says which shape it has.
    assert isinstance(me, TokenIdentity), me
    before = [project.slug for project in listed.items]
    answer = {"before": before, "name": read.name, "state": read.status.state, "problem": missing.code, "scope": me.scope}
    print(json.dumps(answer))
