namespace Millrace.Server.Options.Reference;

/// <summary>What <c>millrace init</c> writes: what most sites are told, ready to be uncommented.</summary>
internal static class StarterFile
{
    public const string Text =
        """
        // The configuration of Millrace. All options and what they mean: docs/configuration.md.
        //
        //   millrace check FILE         says what would be served, or what is wrong, line by line
        //   millrace --config FILE      serves it; flags and the environment (MILLRACE_LISTEN=8080) go before what is said here
        //   kill -HUP                   has a running server read it anew
        //
        // Paths are those of this file's folder. Comments and trailing commas are allowed.
        {
          // For an editor that completes and checks: millrace schema > millrace.schema.json
          // "$schema": "./millrace.schema.json",

          // The folder to serve. This file itself is better not in it.
          "root": "public",

          // Where: a port alone is all interfaces. Several are a list.
          "listen": "127.0.0.1:8080",

          // HTTPS with HTTP/2. Plain HTTP then only redirects.
          // "https": {
          //   "listen": 443,
          //   "cert": "fullchain.pem",
          //   "key": "privkey.pem",
          //   "redirect": true,
          //   "hsts": true,
          // },

          // Other folders for other hosts. Each may have options of its own; what it does not say is as above and below.
          // "hosts": {
          //   "example.org": "./org",
          //   "*.example.org": { "root": "./people", "listing": true },
          // },

          // A page for all routes of an application in the browser.
          // "spa": "/index.html",

          // /about is about.html.
          // "clean-urls": true,

          // Which names answer for a folder, and which files are the bodies of errors.
          // "index": ["index.html", "index.htm"],
          // "error-page": { "404": "/404.html" },

          // How long browsers and caches may keep what. Without it: a year for names with a hash of the content, else they ask each time.
          // "cache-control": { "*.css": "max-age=3600", "/downloads/*": "max-age=86400" },

          // Fields of all answers, or of some paths.
          // "header": [
          //   { "name": "X-Robots-Tag", "value": "noindex" },
          //   { "path": "/fonts/*", "name": "Timing-Allow-Origin", "value": "*" },
          // ],
          // "security-headers": true,
          // "cors": ["https://app.example"],

          // Where old addresses lead.
          // "redirect": [
          //   { "from": "/old/*", "to": "/new/:splat", "status": 301 },
          // ],

          // A name and a password for everything: htpasswd -B -c users ada
          // "auth": "users",

          // Metrics for Prometheus, health for probes and a live page, for this machine only.
          // "admin": { "listen": 9180 },

          // "limits": { "connections": 20000, "connections-per-client": 200, "drain": 20 },
          // "engine": { "reactors": 0, "backend": "auto" },
        }

        """;
}
