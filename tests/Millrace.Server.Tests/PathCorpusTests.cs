using System.Text;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>Every spelling of a way out of the root that we know of, sent as it is: no client library tidies it first.</summary>
public class PathCorpusTests
{
    private const string Secret = "this must stay in the dark";

    private static readonly string[] Ups =
    [
        "..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "%25252e.", "%c0%ae%c0%ae", "%e0%80%ae%e0%80%ae", "%u002e%u002e",
        "%uff0e%uff0e", "\uff0e\uff0e", "..;", "..;a=b", "...", "....", "..%20", "%20..", "..%09", "..%00", "%00..", "..%0d%0a", "..%23", "..%3f",
    ];

    private static readonly string[] Slashes =
    [
        "/", "%2f", "%2F", "\\", "%5c", "%5C", "//", "/./", "/%2e/", "%252f", "%c0%af", "%e0%80%af", "/;/", "%u2215", "\u2215", "/\\",
    ];

    private static readonly string[] Starts = ["/", "/sub/", "/sub/deeper/", "//", "/./", "/%2f", "/sub%2f", "/missing/", "/sub//", "/\\", "/index.html/"];

    private static readonly string[] Ends = ["secret.txt", "site-private/secret.txt", "site/../secret.txt", "secret", "secret.txt%00.html"];

    [Fact]
    public async Task No_spelling_of_a_path_leaves_the_root()
    {
        using var folder = new TempFolder();
        Dictionary<string, string> inside = MakeSite(folder);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.PathOf("site"), "--listen", "127.0.0.1:0");
        string[] targets = [.. Combinations().Concat(Single(folder.Root)).Distinct(StringComparer.Ordinal)];
        Assert.True(targets.Length > 5_000, $"{targets.Length} paths");

        var asker = new Asker(server.Url);
        List<string> faults = [.. targets.SelectMany(target => Faults(target, asker.Ask(target), inside)).Take(20)];

        Assert.True(faults.Count == 0, string.Join('\n', faults));
        Assert.Equal(200, Wire.Get(server.Url, "/").Status);
    }

    [Fact]
    public async Task No_redirect_leads_to_another_host()
    {
        using var folder = new TempFolder();
        MakeSite(folder);
        await using ServerProcess server = await ServerProcess.StartAsync(folder.PathOf("site"), "--listen", "127.0.0.1:0");
        var asker = new Asker(server.Url);
        int redirects = 0;

        foreach (string target in (string[])["/sub", "//sub", "///sub", "/sub//deeper", "//example.com/%2e%2e/sub", "/./sub", "//example.com/..%2fsub",
            "/\\sub", "/%5csub", "/sub?x=//example.com", "//sub/deeper", "/%2fsub", "http://example.com//sub", "http://example.com/sub"])
        {
            WireResponse response = asker.Ask(target);
            Assert.True(response.Status is 308 or 400 or 404, $"{target}: {response.Head}");
            if (response.Status == 308)
            {
                redirects++;
                Assert.True(StaysOnHost(target, response.Field("Location")!), $"{target} leads to {response.Field("Location")}");
            }
        }

        Assert.InRange(redirects, 2, int.MaxValue);
    }

    private static IEnumerable<string> Combinations() =>
        from start in Starts
        from up in Ups
        from slash in Slashes
        from end in Ends
        from depth in (int[])[1, 2, 3]
        // All ends for the plain start, one for each of the others: some 7,000 in place of 60,000.
        where start == Starts[0] ? depth < 3 : end == Ends[0] && depth == start.Count(static letter => letter == '/')
        select start + string.Concat(Enumerable.Repeat(up + slash, depth)) + end;

    /// <summary>Those that no combination gives.</summary>
    private static IEnumerable<string> Single(string parent)
    {
        string many = string.Concat(Enumerable.Repeat("../", 40));
        return
        [
            $"/{many}etc/passwd", $"//{many}etc/passwd", $"{parent}/secret.txt", $"/{parent}/secret.txt", $"/%2f{parent[1..]}/secret.txt",
            $"http://millrace/../secret.txt", $"http://millrace/..%2fsecret.txt", $"http://millrace{parent}/secret.txt", $"file://{parent}/secret.txt",
            "/..", "/../", "/%2e%2e", "/..%2f", "/.../secret.txt", "/sub/..", "/sub/../..", "/sub/../../", "/sub/../../site/index.html",
            "/~root/secret.txt", "/site-private/secret.txt", "/-private/secret.txt", "/.%00./secret.txt", "/%2e%00%2e/secret.txt",
            "/proc/self/environ", "/proc/self/cwd/secret.txt", "/dev/stdin", "../secret.txt", "..", "*/../secret.txt", "secret.txt", "\\..\\secret.txt",
            "/%", "/%2", "/%zz", "/%2e%2", "/..%2", "/%00", "/index.html%00", "/index.html%00.txt", "/a%0d%0aX-Injected:%20yes", "/%ff%fe", "/%f0%82%82%ac",
        ];
    }

    private static IEnumerable<string> Faults(string target, WireResponse response, Dictionary<string, string> inside)
    {
        if (response.Head.Contains("X-Injected:", StringComparison.OrdinalIgnoreCase))
        {
            yield return $"{target} wrote a field of the answer";
        }

        string body = Encoding.UTF8.GetString(response.Body);
        if (body.Contains(Secret, StringComparison.Ordinal) || body.Contains("root:", StringComparison.Ordinal))
        {
            yield return $"{target} is answered with the secret";
        }

        bool isRight = response.Status switch
        {
            400 or 404 => true,
            308 => StaysInside(response.Field("Location")!),
            200 => inside.ContainsValue(body),
            _ => false,
        };
        if (!isRight)
        {
            yield return $"{target} is answered with {response.Head}";
        }
    }

    /// <summary>What a browser makes of it: a second slash, or a backslash it takes for one, would name a host.</summary>
    private static bool StaysInside(string location)
    {
        var page = new Uri("http://millrace/a/b/c");
        var target = new Uri(page, location.Replace('\\', '/'));
        return target.Host == page.Host && !location.Contains("..", StringComparison.Ordinal);
    }

    /// <summary>As a browser resolves it: against the URL that was asked for.</summary>
    private static bool StaysOnHost(string target, string location)
    {
        var page = new Uri(target.StartsWith('/') ? "http://millrace" + target : target);
        var resolved = new Uri(page, location.Replace('\\', '/'));
        return resolved.Host == page.Host && resolved.AbsolutePath.StartsWith("/sub", StringComparison.Ordinal);
    }

    private static Dictionary<string, string> MakeSite(TempFolder folder)
    {
        var inside = new Dictionary<string, string>(StringComparer.Ordinal)
        {
            ["site/index.html"] = "the front page",
            ["site/sub/index.html"] = "a page below",
            ["site/sub/deeper/file.txt"] = "a file further below",
        };
        foreach ((string name, string text) in inside)
        {
            Write(name, text);
        }

        Write("secret.txt", Secret);
        Write("secret", Secret);
        Write("site-private/secret.txt", Secret);
        return inside;

        void Write(string name, string text)
        {
            Directory.CreateDirectory(Path.GetDirectoryName(folder.PathOf(name))!);
            File.WriteAllText(folder.PathOf(name), text);
        }
    }

    /// <summary>Keeps its connection as long as the server does.</summary>
    private sealed class Asker(Uri server)
    {
        private Wire? _wire;

        public WireResponse Ask(string target)
        {
            byte[] request = Encoding.UTF8.GetBytes($"GET {target} HTTP/1.1\r\nHost: millrace\r\n\r\n");
            _wire ??= Wire.Open(server);
            WireResponse response = _wire.Send(request);
            if (response.Status is 0 or 400 || response.Field("Connection") == "close")
            {
                _wire.Dispose();
                _wire = null;
            }

            return response;
        }
    }
}
