using System.Text.Json.Nodes;
using Millrace.Server.Configuration;

namespace Millrace.Server.Tests.Configuration;

/// <summary>For each option a value as a file may have it, which is good by itself and is not the default.</summary>
internal static class SampleValues
{
    /// <summary>Of those whose kind does not say what they hold.</summary>
    private static readonly Dictionary<string, string> Texts = new()
    {
        ["root"] = "public",
        ["key"] = "key.pem",
        ["unix-mode"] = "0600",
        ["trusted-proxy"] = "10.0.0.0/8",
        ["access-log"] = "access.log",
        ["admin"] = "0",
        ["admin-host"] = "admin.example",
        ["otlp"] = "http://127.0.0.1:1",
        ["congestion-control"] = "reno",
        ["user"] = "nobody",
        ["charset"] = "latin1",
        ["realm"] = "Mill",
        ["acme"] = "owner@a.example",
        ["domain"] = "a.example",
        ["acme-dir"] = "acme",
        ["qlog"] = "traces",
        ["dictionary-dir"] = "kept",
        ["acme-server"] = "https://ca.example/directory",
        ["acme-profile"] = "shortlived",
        ["acme-chain"] = "Root X1",
    };

    /// <summary>Of those that a file spells in parts.</summary>
    private static readonly Dictionary<string, string> Rules = new()
    {
        ["error-page"] = """{ "404": "/none.html" }""",
        ["mime"] = """{ "mill": "text/x-mill" }""",
        ["cache-control"] = """{ "*.css": "no-cache", "/a/*": "max-age=60" }""",
        ["header"] = """{ "path": "/a/*", "name": "X-A", "value": "b" }""",
        ["redirect"] = """{ "from": "/old/*", "to": "/new/:splat", "status": 302 }""",
        ["rate-limit"] = """{ "path": "/a/*", "rate": "5/m", "burst": 10 }""",
        ["auth"] = """{ "path": "/private/*", "file": "users" }""",
        ["allow"] = """{ "path": "/admin/*", "clients": "10.0.0.0/8,::1" }""",
        ["deny"] = """{ "clients": "192.0.2.1" }""",
        ["forward-auth"] = """{ "path": "/team/*", "url": "http://127.0.0.1:9091/verify" }""",
        ["proxy"] = """{ "path": "/api/*", "to": "http://127.0.0.1:5000 http://127.0.0.1:5001", "host": "upstream" }""",
        ["rewrite"] = """{ "from": "/app/*", "to": "/app.html" }""",
    };

    public static JsonNode Of(ServerOption option) => option.Kind switch
    {
        OptionValueKind.Switch => option.Default != "on",
        OptionValueKind.Choice => option.Choices.First(choice => choice != option.Default),
        OptionValueKind.Count or OptionValueKind.Seconds or OptionValueKind.Size => (option.Range?.Least ?? 0) + 1,
        OptionValueKind.List when option.Key == "archives" => new JsonArray("tar.gz", "zip"),
        OptionValueKind.List when option.Key == "cors" => new JsonArray("https://a.example", "https://b.example"),
        OptionValueKind.List when option.Key == "proxy-allow" => new JsonArray("http://127.0.0.1:5000", "https://app.example"),
        OptionValueKind.List when option.Key == "forward-auth-copy" => new JsonArray("Remote-User", "Remote-Email"),
        OptionValueKind.List => new JsonArray("a.html", "b.html"),
        OptionValueKind.File when !Texts.ContainsKey(option.Key) => $"{option.Key}.pem",
        _ when Rules.TryGetValue(option.Key, out string? rule) => JsonNode.Parse(rule)!,
        _ when Texts.TryGetValue(option.Key, out string? text) => text,
        _ when option.BareValue is not null => true,
        OptionValueKind.Address => "127.0.0.1:0",
        _ => throw new InvalidOperationException($"{option.Key} needs a text here."),
    };

    /// <summary>Puts a value at an option's place in a file.</summary>
    public static void Put(JsonObject file, ServerOption option, JsonNode? value)
    {
        string[] names = option.Path.Split('.');
        JsonObject group = file;
        foreach (string name in names[..^1])
        {
            group[name] ??= new JsonObject();
            group = group[name]!.AsObject();
        }

        group[names[^1]] = value;
    }
}
