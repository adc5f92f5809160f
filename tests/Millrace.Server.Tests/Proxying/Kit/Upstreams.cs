using System.Globalization;
using Millrace.Server.Tests.Kit;
using Millrace.Tests.Shared;

namespace Millrace.Server.Tests.Proxying.Kit;

/// <summary>Servers of others that stand behind the program, each in a process of its own.</summary>
internal static class Upstreams
{
    private const string Ready = "Serving ";

    /// <summary>tests/Millrace.ProxiedApplication, on Kestrel.</summary>
    /// <param name="arguments">Where it listens, and perhaps its certificate and key.</param>
    public static Task<ServerProcess> StartKestrelAsync(params string[] arguments)
    {
        var output = new DirectoryInfo(AppContext.BaseDirectory);
        string program = Path.Combine(
            Places.Repository, "tests", "Millrace.ProxiedApplication", "bin", output.Parent!.Name, output.Name, "Millrace.ProxiedApplication");
        return ServerProcess.StartAsync(program, arguments is [] ? ["http://127.0.0.1:0"] : arguments, Ready);
    }

    /// <summary>Node's own HTTP server, with upstream.mjs.</summary>
    public static Task<ServerProcess> StartNodeAsync()
    {
        Tool.Require("node");
        string script = Path.Combine(Places.Repository, "tests", "Millrace.Server.Tests", "Proxying", "upstream.mjs");
        return ServerProcess.StartAsync("node", [script], Ready);
    }

    /// <summary>nginx with files under <c>/api</c>.</summary>
    public static async Task<ServerProcess> StartNginxAsync(TempFolder folder)
    {
        Tool.Require("nginx");
        string port = FreePort.Find().ToString(CultureInfo.InvariantCulture);
        folder.WriteText("nginx.conf", $$"""
            daemon off;
            master_process off;
            pid {{folder.PathOf("pid")}};
            error_log {{folder.PathOf("error.log")}};
            events { }
            http {
                access_log off;
                gzip on;
                gzip_types text/plain;
                gzip_min_length 100;
                gzip_http_version 1.0;
                gzip_proxied any;
                types { text/plain txt; application/octet-stream bin; }
                {{string.Concat(((string[])["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]).Select(
                    kind => $"{kind}_temp_path {folder.PathOf(kind)};\n    "))}}
                server {
                    listen 127.0.0.1:{{port}};
                    root {{folder.Root}};
                    location = /api/connection { default_type text/plain; return 200 "$connection $http_x_forwarded_for"; }
                }
            }
            """);
        string address = $"http://127.0.0.1:{port}/";
        string start = $"nginx -p {folder.Root} -c {folder.PathOf("nginx.conf")} & "
            + $"for i in $(seq 600); do (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && break; sleep 0.05; done; "
            + $"echo 'Listening on {address}'; echo 'Serving files'; wait";
        return await ServerProcess.StartAsync("bash", ["-c", start], Ready);
    }
}
