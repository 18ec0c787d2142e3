// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which cgroup paths name a container, and what it is called.
 *
 * It owns the naming habits of docker, podman, containerd, CRI-O, Kubernetes, LXC and
 * systemd-nspawn. A plain systemd unit is no container. The name that a user gave is
 * in Docker's state directory alone; but for that, nothing is read but the path.
 */
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "names_priv.h"

#define SHORT_ID 12
#define FULL_ID	 64

/* One component of a path. */
struct part {
	const char *p;
	size_t len;
};

static bool is(struct part s, const char *word)
{
	return s.len == strlen(word) && !memcmp(s.p, word, s.len);
}

static bool cut_prefix(struct part *s, const char *prefix)
{
	size_t len = strlen(prefix);

	if (s->len < len || memcmp(s->p, prefix, len))
		return false;
	s->p += len;
	s->len -= len;
	return true;
}

static bool cut_suffix(struct part *s, const char *suffix)
{
	size_t len = strlen(suffix);

	if (s->len < len || memcmp(s->p + s->len - len, suffix, len))
		return false;
	s->len -= len;
	return true;
}

static bool is_hex(struct part s)
{
	for (size_t i = 0; i < s.len; i++)
		if (!isxdigit((unsigned char)s.p[i]))
			return false;
	return true;
}

/*
 * docker-ID.scope and its like, or an ID alone: what cgroupfs drivers make below a parent of any
 * name. libpod-conmon-ID.scope is the container's monitor, outside of it, and does not match.
 */
static bool container_id(struct part s, struct part *id)
{
	static const char *const prefixes[] = {"docker-", "cri-containerd-", "crio-", "libpod-",
					       "nerdctl-"};
	bool prefix = false, scope = cut_suffix(&s, ".scope");

	for (size_t i = 0; !prefix && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		prefix = cut_prefix(&s, prefixes[i]);
	if (!is_hex(s) || (scope && !prefix))
		return false;
	if (s.len != FULL_ID && !(prefix && scope && s.len >= SHORT_ID))
		return false;
	*id = (struct part){s.p, SHORT_ID};
	return true;
}

/* kubepods-burstable-podUID.slice (with _ for -), or podUID somewhere below kubepods. */
static bool pod_uid(struct part s, bool below_kubepods, struct part *uid)
{
	struct part at = s;

	if (cut_suffix(&s, ".slice")) {
		while (s.len && !cut_prefix(&s, "kubepods")) {
			s.p++;
			s.len--;
		}
		for (at = s; at.len && !cut_prefix(&at, "-pod"); at.len--)
			at.p++;
	} else if (!below_kubepods || !cut_prefix(&at, "pod")) {
		return false;
	}
	for (size_t i = 0; i < at.len; i++)
		if (!isalnum((unsigned char)at.p[i]) && !strchr("_-", at.p[i]))
			return false;
	*uid = at;
	return at.len > 0;
}

static bool unit_name(struct part s, struct part parent, struct part *name)
{
	bool lxc = is(parent, "lxc") || is(parent, "lxc.payload");
	bool match = lxc || cut_prefix(&s, "lxc.payload.") ||
		     (cut_prefix(&s, "systemd-nspawn@") && cut_suffix(&s, ".service")) ||
		     (is(parent, "machine.slice") && cut_prefix(&s, "machine-") &&
		      cut_suffix(&s, ".scope"));

	*name = s;
	return match && s.len;
}

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

/* systemd writes a '-' within a name as \x2d. */
static void copy_unit(char *buf, size_t len, struct part s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.len && n + 1 < len; i++) {
		if (i + 3 < s.len && s.p[i] == '\\' && s.p[i + 1] == 'x' &&
		    is_hex((struct part){s.p + i + 2, 2}) && memcmp(s.p + i + 2, "00", 2)) {
			buf[n++] = (char)(hex_value(s.p[i + 2]) * 16 + hex_value(s.p[i + 3]));
			i += 3;
		} else {
			buf[n++] = s.p[i];
		}
	}
	buf[n] = '\0';
}

static void copy_uid(char *buf, size_t len, struct part s)
{
	snprintf(buf, len, "%.*s", (int)s.len, s.p);
	for (; *buf; buf++)
		if (*buf == '_')
			*buf = '-';
}

const char *names__container(const char *path, char *buf, size_t len)
{
	struct part s, parent = {"", 0}, found;
	bool below_kubepods = false, any = false;

	if (!path || *path != '/' || !len)
		return NULL;
	/* The innermost wins: a container within a pod, docker within LXC. */
	while (*path) {
		path += strspn(path, "/");
		s = (struct part){path, strcspn(path, "/")};
		path += s.len;
		if (!s.len)
			break;
		if (container_id(s, &found)) {
			any = true;
			snprintf(buf, len, "%.*s", (int)found.len, found.p);
		} else if (pod_uid(s, below_kubepods, &found)) {
			any = true;
			copy_uid(buf, len, found);
		} else if (unit_name(s, parent, &found)) {
			any = true;
			copy_unit(buf, len, found);
		}
		below_kubepods = below_kubepods || is(s, "kubepods");
		parent = s;
	}
	return any ? buf : NULL;
}

bool container__full_id(const char *path, char *id)
{
	struct part s, found;
	bool any = false;

	while (*path) {
		path += strspn(path, "/");
		s = (struct part){path, strcspn(path, "/")};
		path += s.len;
		if (s.len < FULL_ID || !container_id(s, &found) ||
		    found.p + FULL_ID > s.p + s.len || !is_hex((struct part){found.p, FULL_ID}))
			continue;
		any = true;
		snprintf(id, FULL_ID + 1, "%.*s", FULL_ID, found.p);
	}
	return any;
}

/* ---- Kubernetes, systemd ---- */

const char *names__pod(const char *path, char *buf, size_t len)
{
	struct part s, uid;
	bool below_kubepods = false, any = false;

	while (path && *path) {
		path += strspn(path, "/");
		s = (struct part){path, strcspn(path, "/")};
		path += s.len;
		if (pod_uid(s, below_kubepods, &uid)) {
			any = true;
			copy_uid(buf, len, uid);
		}
		below_kubepods = below_kubepods || is(s, "kubepods");
	}
	return any ? buf : NULL;
}

/* The innermost service, scope or the like; a slice only where there is none of those. */
const char *names__unit(const char *path, char *buf, size_t len)
{
	static const char *const kinds[] = {".service", ".scope", ".socket", ".mount", ".swap"};
	struct part s, unit = {NULL, 0}, slice = {NULL, 0};

	while (path && *path) {
		struct part t;

		path += strspn(path, "/");
		t = s = (struct part){path, strcspn(path, "/")};
		path += s.len;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
			if (cut_suffix(&t, kinds[i]) && t.len)
				unit = s;
		if (cut_suffix(&t, ".slice") && t.len)
			slice = s;
	}
	if (!unit.len)
		unit = slice;
	if (!unit.len || !len)
		return NULL;
	snprintf(buf, len, "%.*s", (int)unit.len, unit.p);
	return buf;
}

/* ---- Docker ---- */

#define STATE_MOST (1U << 20) /* a state file is some kilobytes */

int docker__name(const char *dir, const char *id, char *buf, size_t len)
{
	char path[512];
	const char *name;
	json_t *state;
	struct stat st;
	int err = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s/config.v2.json", dir, id);
	f = fopen(path, "re");
	if (!f)
		return -errno;
	if (fstat(fileno(f), &st) || !S_ISREG(st.st_mode) || st.st_size > STATE_MOST) {
		fclose(f);
		return -EINVAL;
	}
	state = json_loadf(f, JSON_REJECT_DUPLICATES, NULL);
	fclose(f);
	name = json_string_value(json_object_get(state, "Name"));
	if (name && name[*name == '/']) { /* "/web" */
		snprintf(buf, len, "%s", name + (*name == '/'));
		err = 0;
	}
	json_decref(state);
	return err;
}
