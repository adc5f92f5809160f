using System.Net;
using System.Text;
using Millrace.Engine;
using Millrace.Server.Commands;
using Millrace.Server.Configuration;
using Millrace.StaticFiles;

namespace Millrace.Server.Tests.Configuration;

public class ConfigurationFileTests
{
    private const string Path = "/srv/millrace.json";

    [Fact]
    public void A_file_may_say_everything_as_people_would_write_it()
    {
        ServeOptions options = Read(
            """
            // A comment.
            {
              "$schema": "./millrace.schema.json",
              "root": "public",
              "listen": [8080, "[::1]:8081", "unix:m.sock"], /* another */
              "https": { "listen": 8443, "cert": "a.pem", "redirect": true, "hsts": true },
              "engine": { "reactors": 3, "backend": "epoll", "stall-watch": false },
              "limits": { "connections": 100, "drain": 5, "head-max": "8k" },
              "index": ["home.html", "index.html"],
              "spa": true,
              "listing": true,
              "log": { "access": "access.log" },
              "descriptors": "auto",
              "cache-max-file": 1000,
              "error-page": { "500": "/oops.html", "404": "" },
              "mime": { "wasm": "application/x-wasm" },
              "cache-control": { "*.css": "max-age=1", "*": "no-store" },
              "header": ["X-A: b", { "name": "X-B", "value": "c: d" }, { "path": "/a/*", "name": "X-C", "value": "e" }],
              "redirect": [{ "from": "/a?b=:b", "to": "/c/:b", "status": 302 }, "/d /e"],
              "cors": ["https://a.example", "https://b.example"],
            }
            """);

        Assert.Equal("/srv/public", options.Site.Root);
        Assert.Equal([8080, 8081], options.Addresses.OfType<IPEndPoint>().Select(address => address.Port));
        Assert.Equal("/srv/m.sock", options.Addresses[2].ToString());
        Assert.Equal("/srv/access.log", options.AccessLog.Destination);
        Assert.Equal("/srv/a.pem", Assert.Single(options.Https.CertificatePaths));
        Assert.Equal((3, BackendKind.Epoll, false), (options.Engine.Reactors, options.Engine.Backend, options.Engine.WatchForStalls));
        Assert.Equal((100, 5), (options.Engine.Limits.Connections, options.Drain.TotalSeconds));
        Assert.Equal(["home.html", "index.html"], options.Site.IndexNames);
        Assert.Equal(("/index.html", true, null, 1000), (options.Site.Fallback, options.Site.Listing, options.Site.DescriptorsMax, options.Site.CacheFileBytesMax));
        Assert.Equal([new(500, "/oops.html")], options.Site.ErrorPages);
        Assert.Equal("application/x-wasm", options.Site.ContentTypes["wasm"]);
        Assert.Equal([new CacheRule("*.css", "max-age=1"), new CacheRule("*", "no-store")], options.Site.CacheControl);
        Assert.Equal(
            [("*", "Strict-Transport-Security"), ("*", "X-A"), ("*", "X-B"), ("/a/*", "X-C")],
            options.Site.Fields.Select(rule => (rule.Pattern, rule.Name)));
        Assert.Equal([("/a", 302), ("/d", 301)], options.Site.Redirects.Select(rule => (rule.From, rule.Status)));
        Assert.Equal(2, options.Site.Cors!.Origins.Count);
    }

    [Theory]
    [InlineData("a.log", "/srv/a.log")]
    [InlineData("/var/a.log", "/var/a.log")]
    [InlineData("-", "-")]
    [InlineData("syslog", "syslog")]
    [InlineData("syslog:a.sock", "syslog:/srv/a.sock")]
    [InlineData("syslog:/run/a.sock", "syslog:/run/a.sock")]
    public void A_log_is_in_the_files_own_folder(string destination, string expected) =>
        Assert.Equal(expected, Read($$"""{ "root": "a", "log": { "access": "{{destination}}" } }""").AccessLog.Destination);

    [Fact]
    public void A_host_has_its_own_options_over_those_of_all()
    {
        ServeOptions options = Read(
            """
            {
              "listing": true,
              "header": { "name": "X-A", "value": "b" },
              "hosts": {
                "a.example": "./a",
                "*.a.example": { "root": "/b", "listing": false, "header": [], "spa": "/app.html" },
              },
            }
            """);

        Assert.Equal([("a.example", "/srv/./a"), ("*.a.example", "/b")], options.Hosts.Select(host => (host.Name, host.Site.Root)));
        Assert.Equal([true, false], options.Hosts.Select(host => host.Site.Listing));
        Assert.Equal([1, 0], options.Hosts.Select(host => host.Site.Fields.Count));
        Assert.Equal([null, "/app.html"], options.Hosts.Select(host => host.Site.Fallback));
        Assert.True(options.Site.Listing);
    }

    [Fact]
    public void An_international_host_is_known_by_what_clients_send_and_keeps_its_own_options()
    {
        ServeOptions options = Read(
            """
            { "hosts": { "b\u00FCcher.example": { "root": "/a", "listing": true }, "*.B\u00DCCHER.example": { "root": "/b", "spa": "/app.html" } } }
            """);

        Assert.Equal(["xn--bcher-kva.example", "*.xn--bcher-kva.example"], options.Hosts.Select(host => host.Name));
        Assert.Equal([true, false], options.Hosts.Select(host => host.Site.Listing));
        Assert.Equal([null, "/app.html"], options.Hosts.Select(host => host.Site.Fallback));
    }

    [Fact]
    public void Flags_go_before_the_environment_and_that_before_the_file()
    {
        FileSettings file = ReadFile("""{ "listen": [1, 2], "charset": "c", "auth": "u", "realm": "r", "hosts": { "a.example": { "root": "a", "realm": "own" } } }""", []);
        var errors = new List<OptionError>();
        SettingSet variables = VariableSettings.Read(
            new Dictionary<string, string> { ["MILLRACE_LISTEN"] = "127.0.0.1:3\n127.0.0.1:4\n", ["MILLRACE_CHARSET"] = "b", ["MILLRACE_REALM"] = "" },
            errors);
        var flags = new SettingSet([OptionFlags.SettingOf(OptionTable.Get("charset"), "a")]);

        ServeOptions options = ServerConfiguration.Merge(flags, variables, file, errors);

        Assert.Empty(errors);
        Assert.Equal([3, 4], options.Addresses.Cast<IPEndPoint>().Select(address => address.Port));
        Assert.Equal(("a", "r"), (options.Site.Charset, options.Site.Realm));
        Assert.Equal(("a", "own"), (options.Hosts[0].Site.Charset, options.Hosts[0].Site.Realm));
    }

    [Theory]
    [InlineData("{\n  \"lisen\": 8080\n}", "2:3: 'lisen' is not an option. Did you mean 'listen'?")]
    [InlineData("{ \"cacheControl\": {} }", "1:3: 'cacheControl' is not an option. Did you mean 'cache-control'?")]
    [InlineData("{ \"connections\": 5 }", "1:3: 'connections' is not an option. Did you mean 'limits.connections'?")]
    [InlineData("{ \"limits\": { \"conections\": 5 } }", "1:15: 'limits.conections' is not an option. Did you mean 'limits.connections'?")]
    [InlineData("{ \"tls-key-log\": \"a\" }", "1:3: 'tls-key-log' is not an option. Did you mean 'https.key-log'?")]
    [InlineData("{ \"gateway\": 1 }", "1:3: 'gateway' is not an option. 'millrace schema' prints all options.")]
    [InlineData("{ \"limits\": 5 }", "1:3: 'limits' is a group of options: write { ... }.")]
    [InlineData("{\"ü\": 1, \"listing\": 1}", "1:21: listing must be true or false, not a number.", "1:2: 'ü' is not an option. 'millrace schema' prints all options.")]
    [InlineData("{ \"root\": 1 }", "1:11: root must be a string, not a number.")]
    [InlineData("{ \"spa\": null }", "1:10: spa must be true, or a string, not null.")]
    [InlineData("{ \"limits\": { \"connections\": \"5\" } }", "1:30: limits.connections must be a number, not a string.")]
    [InlineData("{ \"limits\": { \"connections\": 0 } }", "1:30: limits.connections: '0' is not valid: use a number from 1 to 16000000.")]
    [InlineData("{ \"limits\": { \"connections\": 1.5 } }", "1:30: limits.connections: '1.5' is not valid: use a number from 1 to 16000000.")]
    [InlineData("{ \"listen\": [8080, true] }", "1:20: listen must be a port, or an address as a string, or a list of these, not true or false.")]
    [InlineData("{ \"listen\": [\n8080,\n\"x\" ] }", "3:1: listen: 'x' is not a valid address: it is neither a port from 0 to 65535 nor an address with a port. Use 8080 (all interfaces), localhost:8080, 127.0.0.1:8080, [::1]:8080 or unix:/run/x.sock.")]
    [InlineData("{ \"watch\": \"never\" }", "1:12: watch: 'never' is not a watch mode. Use auto, inotify, revalidate or off.")]
    [InlineData("{ \"listing\": true,\n \"listing\": true }", "2:2: 'listing' is set twice, first in line 1: remove one.")]
    [InlineData("{ \"redirect\": [{ \"from\": \"/a\" }] }", "1:16: redirect: 'to' is missing.")]
    [InlineData("{ \"redirect\": [{ \"from\": \"/a\", \"too\": \"/b\" }] }", "1:32: redirect: 'too' is not a known key. Did you mean 'to'?", "1:16: redirect: 'to' is missing.")]
    [InlineData("{ \"redirect\": [{ \"from\": \"/a\", \"to\": [] }] }", "1:38: redirect: 'to' must be a string, not a list.")]
    [InlineData("{ \"cache-control\": { \"a=b\": \"no-store\" } }", "1:22: cache-control: 'path' cannot contain '='.")]
    [InlineData("{ \"index\": [\"a,b\"] }", "1:13: index: 'a,b' contains a comma, which separates values.")]
    [InlineData("{ \"hosts\": { \"a.example\": {} } }", "1:14: The host 'a.example' has no root: write \"root\": \"./folder\".")]
    [InlineData("{ \"hosts\": { \"a.example\": \"a\", \"A.example\": \"b\" } }", "1:32: hosts: The host 'A.example' has two folders: use one.")]
    [InlineData("{ \"hosts\": { \"b\u00FCcher.example\": \"a\", \"xn--bcher-kva.example\": \"b\" } }", "1:37: hosts: The host 'xn--bcher-kva.example' has two folders: use one.")]
    [InlineData(
        "{ \"hosts\": { \"bu\u0308cher.example\": \"a\" } }",
        "1:14: hosts: 'bu\u0308cher.example' is not a host name: U+0308 in it has no coding without normalization. "
            + "Use the A-label (xn--...), as browsers show and send it.")]
    [InlineData("{ \"hosts\": { \"a.example\": { \"root\": \"a\", \"listen\": 1 } } }", "1:42: 'listen' applies to the whole server: move it out of 'hosts'.")]
    [InlineData("{ \"hosts\": { \"a.example\": { \"root\": \"a\", \"limits\": {} } } }", "1:42: 'limits' applies to the whole server: move it out of 'hosts'.")]
    [InlineData("{ \"hosts\": { \"a.example\": { \"root\": \"a\", \"chorset\": \"x\" } } }", "1:42: 'chorset' is not an option. Did you mean 'charset'?")]
    [InlineData("{ \"hosts\": { \"a.example\": { \"root\": \"a\", \"charset\": \"x y\" } } }", "1:53: charset: 'x y' is not a charset. Use a name such as utf-8, or none.")]
    [InlineData("{ \"hosts\": [] }", "1:3: 'hosts' must be an object: write { \"example.org\": \"./folder\" }.")]
    [InlineData("{ \"https\": { \"cert\": \"a.pem\" } }", "1:14: https.cert has no effect without HTTPS: add https.listen, for example 443.")]
    [InlineData("{ \"https\": { \"listen\": true, \"redirect\": true } }", "1:30: https.redirect needs an HTTP address to redirect from: add listen, for example 80.")]
    [InlineData(
        "{ \"engine\": { \"shared-submission-polling\": true } }",
        "1:15: engine.shared-submission-polling has no effect without engine.submission-polling: set that as well.")]
    [InlineData("{ \"engine\": { \"completion-entries\": 4 } }", "1:15: engine.completion-entries is less than engine.submission-entries: use at least 512.")]
    [InlineData("{ \"engine\": { \"receive-buffers\": 1000 } }", "1:34: engine.receive-buffers: 1000 is not a power of two. Use 512, 1024 or 2048, for example.")]
    [InlineData("[]", "1:1: The configuration must be an object: write { ... }.")]
    [InlineData("\uFEFF{ \"lisen\": 1 }", "1:3: 'lisen' is not an option. Did you mean 'listen'?")]
    public void A_mistake_is_reported_with_its_position_and_a_remedy(string text, params string[] expected)
    {
        var errors = new List<OptionError>();
        FileSettings file = ReadFile(text, errors);
        ServerConfiguration.Merge(SettingSet.Empty, SettingSet.Empty, file, errors);

        Assert.Equal(expected.Select(one => $"{Path}:{one}").Order(), errors.Select(error => error.ToString()).Distinct().Order());
    }

    [Theory]
    [InlineData("", "1:1: The file is empty: write { ... }, or see 'millrace init'.")]
    [InlineData("{", "1:2: The file ends within an object: add '}'.")]
    [InlineData("{ \"root\": \"public\",", "1:20: The file ends within an object: add '}'.")]
    [InlineData("{ \"root\": \"public\",\n  // more\n", "1:20: The file ends within an object: add '}'.")]
    [InlineData("{ \"listen\": [\"80\",\n", "1:19: The file ends within a list: add ']}'.")]
    [InlineData("{ \"hosts\": { \"a\": \"b\"\n", "1:22: The file ends within an object: add '}}'.")]
    [InlineData("{ \"root\": ", "1:11: The file ends within a value: a quote, '}' or ']' is missing at or before this place.")]
    [InlineData("{ \"root\": \"pub", "1:15: The file ends within a value: a quote, '}' or ']' is missing at or before this place.")]
    [InlineData("{\n  \"root\": 'a'\n}", "2:11: JSON has no single quotes: write keys and texts in double quotes.")]
    [InlineData(
        "{\n  \"root\": \"ü\"\n  \"listen\": 1\n}",
        "3:3: Unexpected '\"': check for a missing or extra comma, quote or bracket at or before this place.")]
    [InlineData("{ \"root\": \"a\" } x", "1:17: Unexpected 'x': write keys and texts in double quotes, with commas between them.")]
    [InlineData("{ root: 1 }", "1:3: Unexpected 'root': write keys and texts in double quotes, with commas between them.")]
    [InlineData("{ \"root\": a-b }", "1:11: Unexpected 'a-b': write keys and texts in double quotes, with commas between them.")]
    [InlineData(
        "{ \"root\": \"a\", , }", "1:16: Unexpected ',': check for a missing or extra comma, quote or bracket at or before this place.")]
    public void Text_that_is_not_json_is_reported_with_position_and_remedy(string text, string expected)
    {
        var errors = new List<OptionError>();
        ReadFile(text, errors);

        Assert.Equal($"{Path}:{expected}", Assert.Single(errors).ToString());
    }

    [Fact]
    public void Bytes_that_are_not_text_are_reported_with_their_position()
    {
        var errors = new List<OptionError>();
        ConfigurationFile.Read(new FileText(Path, [.. "{\n\"root\": \""u8, 0xE9, .. "\"}"u8]), errors);

        Assert.Equal($"{Path}:2:10: The file is not UTF-8: save it in that encoding.", Assert.Single(errors).ToString());
    }

    [Fact]
    public void Whatever_a_file_holds_is_read_or_refused()
    {
        byte[] starter = Encoding.UTF8.GetBytes(InitCommand.StarterFile.Replace("  // \"", "  \"", StringComparison.Ordinal));
#pragma warning disable CA5394 // Not for secrets: the bytes have to be the same in every run.
        var random = new Random(8);
        for (int i = 0; i < 5_000; i++)
        {
            byte[] bytes = [.. starter];
            for (int changes = random.Next(4); changes >= 0; changes--)
            {
                bytes[random.Next(bytes.Length)] = random.Next(2) == 0 ? (byte)random.Next(256) : (byte)"{}[]\",:/1te\\"[random.Next(12)];
            }
#pragma warning restore CA5394

            var errors = new List<OptionError>();
            FileSettings file = ConfigurationFile.Read(new FileText(Path, bytes), errors);
            ServerConfiguration.Merge(SettingSet.Empty, SettingSet.Empty, file, errors);
            int lines = bytes.Count(one => one == '\n') + 1;
            Assert.All(errors, error => Assert.InRange(error.Origin.Position!.Line, 1, lines));
        }
    }

    [Theory]
    [InlineData("MILLRACE_LISTN", "MILLRACE_LISTN is not an option. Did you mean MILLRACE_LISTEN?")]
    [InlineData("MILLRACE_CONFG", "MILLRACE_CONFG is not an option. Did you mean MILLRACE_CONFIG?")]
    [InlineData("MILLRACE_REACTORS", "MILLRACE_REACTORS: 'tcp://10.0.0.1' is not valid: use a number from 0 to 1024.")]
    [InlineData("MILLRACE_PORT", null)]
    [InlineData("MILLRACE_PORT_8080_TCP_ADDR", null)]
    [InlineData("MILLRACE_ADMIN_PORT", null)]
    [InlineData("MILLRACE_ADMIN_SERVICE_PORT_HTTP", null)]
    [InlineData("MILLRACE_SERVICE_HOST", null)]
    [InlineData("MILLRACE_SERVICE_PORT", null)]
    [InlineData("MILLRACE_ARTIFACTS", null)]
    public void A_variable_that_is_nearly_an_option_s_is_a_mistake_and_others_are_not(string name, string? expected)
    {
        var errors = new List<OptionError>();
        SettingSet variables = VariableSettings.Read(new Dictionary<string, string> { [name] = "tcp://10.0.0.1" }, errors);
        ServerConfiguration.Merge(SettingSet.Empty, variables, FileSettings.Empty, errors);

        Assert.Equal(expected, errors.SingleOrDefault()?.ToString());
    }

    [Fact]
    public void What_is_left_to_the_server_is_shared_out_among_the_sites()
    {
        SiteOptions alone = Read("""{ "root": "." }""").Site;
        ServeOptions options = Read("""
            { "root": ".", "hosts": { "a.example": "a", "b.example": { "root": "b", "cache-memory": "1m", "descriptors": 7 } } }
            """);

        Assert.Null(alone.CacheBytesMax);
        Assert.Equal(alone.ResolveCacheBytesMax() / 3, options.Site.CacheBytesMax);
        Assert.Equal(alone.ResolveCacheBytesMax() / 3, options.Hosts[0].Site.CacheBytesMax);
        Assert.Equal(alone.ResolveDescriptorsMax() / 3, options.Hosts[0].Site.DescriptorsMax);
        Assert.Equal((1024 * 1024, 7), (options.Hosts[1].Site.CacheBytesMax, options.Hosts[1].Site.DescriptorsMax));
    }

    private static FileSettings ReadFile(string text, ICollection<OptionError> errors) =>
        ConfigurationFile.Read(new FileText(Path, Encoding.UTF8.GetBytes(text)), errors);

    private static ServeOptions Read(string text)
    {
        var errors = new List<OptionError>();
        ServeOptions options = ServerConfiguration.Merge(SettingSet.Empty, SettingSet.Empty, ReadFile(text, errors), errors);
        Assert.Empty(errors);
        return options;
    }
}
