namespace Millrace.Server.Configuration.Files;

/// <summary>The starter file that <c>millrace init</c> writes: common options, ready to be uncommented.</summary>
internal static class StarterFile
{
    public const string Text =
        """
        // Millrace configuration. All options: docs/configuration.md.
        //
        //   millrace check FILE         prints what would be served, or what is wrong, line by line
        //   millrace --config FILE      serves it; flags and environment variables (MILLRACE_LISTEN=8080) override this file
        //   kill -HUP                   makes a running server reload it
        //
        // Paths are relative to this file's folder. Comments and trailing commas are allowed.
        {
          // For completion and checks in an editor: millrace schema > millrace.schema.json
          // "$schema": "./millrace.schema.json",

          // The folder to serve. Keep this file outside of it.
          "root": "public",

          // The address: a port alone means all interfaces. Use a list for several.
          "listen": "127.0.0.1:8080",

          // HTTPS with HTTP/2. Plain HTTP then only redirects to it.
          // "https": {
          //   "listen": 443,
          //   "cert": "fullchain.pem",
          //   "key": "privkey.pem",
          //   "redirect": true,
          //   "hsts": true,
          // },

          // Other folders for other hosts. Each can have its own options, which override those of this file.
          // "hosts": {
          //   "example.org": "./org",
          //   "*.example.org": { "root": "./people", "listing": true },
          // },

          // The page for all routes of a single-page application.
          // "spa": "/index.html",

          // Serve about.html as /about.
          // "clean-urls": true,

          // File names that are served for a folder, and pages for errors.
          // "index": ["index.html", "index.htm"],
          // "error-page": { "404": "/404.html" },

          // Cache-Control by path. Default: one year for names with a content hash; other files are revalidated on each use.
          // "cache-control": { "*.css": "max-age=3600", "/downloads/*": "max-age=86400" },

          // Header fields for all responses, or for some paths.
          // "header": [
          //   { "name": "X-Robots-Tag", "value": "noindex" },
          //   { "path": "/fonts/*", "name": "Timing-Allow-Origin", "value": "*" },
          // ],
          // "security-headers": true,
          // "cors": ["https://app.example"],

          // Redirects for old paths.
          // "redirect": [
          //   { "from": "/old/*", "to": "/new/:splat", "status": 301 },
          // ],

          // Require a user name and password for all files: htpasswd -B -c users ada
          // "auth": "users",

          // Metrics for Prometheus, health checks and a live dashboard, for this machine only.
          // "admin": { "listen": 9180 },

          // "limits": { "connections": 20000, "connections-per-client": 200, "drain": 20 },
          // "engine": { "reactors": 0, "backend": "auto" },
        }

        """;
}
