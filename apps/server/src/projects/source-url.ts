/** Name under which the URL of a repository is sealed when it holds credentials. */
export const sourceUrlSecret = 'source/url'

/** Names under which the other side of a repository, and the key for it, are sealed with the project. */
export const gitRemoteSecret = 'git/remote'
export const gitDeployKeySecret = 'git/deploy-key'
/** How pushes are deployed, with the secret of the forge. */
export const gitWebhookSecret = 'git/webhook'

/** They open a repository for one project; a copy gets them from a person. */
export const opensRepository = (name: string) =>
  [sourceUrlSecret, gitRemoteSecret, gitDeployKeySecret, gitWebhookSecret].includes(name)
