/** Where people do the same in the browser. */
export const ownKeys = (act: string) => ({ what: `${act} SSH keys`, page: '/settings/ssh-keys' })
