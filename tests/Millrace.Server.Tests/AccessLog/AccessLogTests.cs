using System.Net.Sockets;
using System.Runtime.InteropServices;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.AccessLog;

/// <summary>The access log of the program as it ships.</summary>
public sealed partial class AccessLogTests : IDisposable
{
    private const PosixSignal User1 = (PosixSignal)10;

    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(60);

    private readonly TempFolder _folder = new();
    private readonly TempFolder _site = new();

    private string LogPath => _folder.PathOf("access.log");

    public void Dispose()
    {
        _folder.Dispose();
        _site.Dispose();
    }

    [Fact]
    public async Task Each_request_is_one_line_in_its_order()
    {
        _site.Add("a.bin", 1000);
        await using ServerProcess server = await StartAsync();
        using (Wire wire = Wire.Open(server.Url))
        {
            for (int i = 0; i < 200; i++)
            {
                Assert.Equal(200, wire.Ask($"/a.bin?{i}", "User-Agent: order").Status);
            }
        }

        await StopAsync(server);

        string[] lines = File.ReadAllLines(LogPath);
        Assert.Equal(200, lines.Length);
        for (int i = 0; i < lines.Length; i++)
        {
            Assert.Matches(Combined(), lines[i]);
            Assert.StartsWith("127.0.0.1 - - [", lines[i], StringComparison.Ordinal);
            Assert.EndsWith($"\"GET /a.bin?{i} HTTP/1.1\" 200 1000 \"-\" \"order\"", lines[i], StringComparison.Ordinal);
        }

#pragma warning disable CA1416 // The server is Linux's.
        Assert.Equal(UnixFileMode.UserRead | UnixFileMode.UserWrite | UnixFileMode.GroupRead, File.GetUnixFileMode(LogPath));
#pragma warning restore CA1416
    }

    [Fact]
    public async Task Answers_of_every_kind_have_their_bytes()
    {
        _site.Add("a.bin", 100_000);
        await using ServerProcess server = await StartAsync("--access-log-format", "json", "--cache-max-file", "64k");
        using (Wire wire = Wire.Open(server.Url))
        {
            WireResponse whole = wire.Ask("/a.bin");
            _ = wire.Ask("/a.bin", $"If-None-Match: {whole.Field("ETag")}");
            _ = wire.Ask("/a.bin", "Range: bytes=0-9");
            _ = wire.Ask("/none");
        }

        Assert.Equal(0, await CurlAsync("-sI", $"{server.Url}a.bin"));
        Assert.Equal(0, await CurlAsync("-s", "--http2-prior-knowledge", "-o", "/dev/null", $"{server.Url}a.bin?h2"));
        await StopAsync(server);

        (string, int, long, string)[] shown =
        [
            .. File.ReadAllLines(LogPath).Select(static line => JsonDocument.Parse(line).RootElement).Select(static line => (
                $"{line.GetProperty("method").GetString()} {line.GetProperty("protocol").GetString()}",
                line.GetProperty("status").GetInt32(),
                line.GetProperty("bytes").GetInt64(),
                line.GetProperty("body").GetString()!)),
        ];
        Assert.Equal(6, shown.Length);
        Assert.Contains(("GET HTTP/1.1", 200, 100_000, "read"), shown);
        Assert.Contains(("GET HTTP/1.1", 304, 0, "none"), shown);
        Assert.Contains(("GET HTTP/1.1", 206, 10, "read"), shown);
        Assert.Contains(("GET HTTP/1.1", 404, 15, "text"), shown);
        Assert.Contains(("HEAD HTTP/1.1", 200, 0, "none"), shown);
        Assert.Contains(("GET HTTP/2.0", 200, 100_000, "read"), shown);
    }

    [Fact]
    public async Task Who_is_sent_to_https_and_who_speaks_no_http_have_their_lines()
    {
        using var keys = new TempFolder();
        await using ServerProcess server = await StartAsync(
            ["--https", "127.0.0.1:0", .. OwnCertificate.Make(keys, "a", "a.example"), "--https-redirect"]);
        var plain = new Uri(server.Addresses[1]);
        Assert.Equal(308, Wire.Get(plain, "/a?b").Status);
        using (Wire wire = Wire.Open(plain))
        {
            Assert.Equal(400, wire.Send("\x16\x03\x01\"\r\n\r\n"u8).Status);
        }

        await StopAsync(server);

        string[] lines = File.ReadAllLines(LogPath);
        Assert.Equal(2, lines.Length);
        Assert.Contains(lines, static line => line.Contains("\"GET /a?b HTTP/1.1\" 308 0 ", StringComparison.Ordinal));
        Assert.Contains(lines, static line => line.Contains("\"\\x16\\x03\\x01\\x22\" 400 ", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData("-tls1_2", "1.2", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "P-256:P-384", "secp256r1")]
    [InlineData("-tls1_3", "1.3", "TLS_AES_128_GCM_SHA256", "P-384:P-256", "secp384r1")]
    public async Task What_a_handshake_agreed_on_is_in_json(string flag, string version, string cipher, string groups, string group)
    {
        _site.Add("a.bin", 10);
        using var keys = new TempFolder();
        string[] certificate = OwnCertificate.Make(keys, "own", "localhost");
        await using ServerProcess server = await StartAsync(
            ["--access-log-format", "json", "--https", "127.0.0.1:0", .. certificate]);
        Tool.Require("openssl");
        Uri url = server.Addresses.Select(static address => new Uri(address)).Single(static url => url.Scheme == "https");
        await Tool.RunAsync(
            Patience,
            "sh", "-c", "printf 'GET /a.bin HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' | openssl s_client -quiet \"$@\"",
            "sh", "-connect", $"127.0.0.1:{url.Port}", flag, "-groups", groups);
        string line = await AwaitLinesAsync(LogPath, 1);
        await StopAsync(server);

        JsonElement root = JsonDocument.Parse(line).RootElement;
        Assert.Equal(
            (version, cipher, group),
            (root.GetProperty("tls_version").GetString(), root.GetProperty("tls_cipher").GetString(), root.GetProperty("tls_group").GetString()));
    }

    [Fact]
    public async Task A_download_that_is_broken_off_is_logged_with_what_was_sent()
    {
        const int Bytes = 64 * 1024 * 1024;
        _site.Add("large.bin", Bytes);
        await using ServerProcess server = await StartAsync("--access-log-format", "json");
        using (SlowDownload download = await SlowDownload.StartAsync(new Uri(server.Url, "large.bin")))
        {
            Assert.False(File.ReadAllText(LogPath).Length > 0);
        }

        string line = await AwaitLinesAsync(LogPath, 1);
        await StopAsync(server);

        JsonElement root = JsonDocument.Parse(line).RootElement;
        Assert.False(root.GetProperty("complete").GetBoolean());
        Assert.Equal(200, root.GetProperty("status").GetInt32());
        Assert.InRange(root.GetProperty("bytes").GetInt64(), 1, Bytes - 1);
    }

    [Fact]
    public async Task Rotation_under_load_loses_no_line_and_tears_none()
    {
        const int Clients = 4;
        const int Rotations = 5;
        _site.Add("a.bin", 500);
        await using ServerProcess server = await StartAsync();
        using var done = new CancellationTokenSource();
        Task<int>[] clients = [.. Enumerable.Range(0, Clients).Select(client => Task.Run(() => Ask(server.Url, client, done.Token)))];
        for (int i = 0; i < Rotations; i++)
        {
            await AwaitLinesAsync(LogPath, 50);
            File.Move(LogPath, $"{LogPath}.{i}");
            server.Signal(User1);
            await AwaitFileAsync(LogPath);
        }

        await done.CancelAsync();
        int[] asked = await Task.WhenAll(clients).WaitAsync(Patience, TestContext.Current.CancellationToken);
        await StopAsync(server);

        string[] lines = [.. Enumerable.Range(0, Rotations).Select(i => $"{LogPath}.{i}").Append(LogPath).SelectMany(File.ReadAllLines)];
        Assert.All(lines, static line => Assert.Matches(Combined(), line));
        string[] expected = [.. asked.SelectMany(static (count, client) => Enumerable.Range(0, count).Select(i => $"/a.bin?{client}.{i}"))];
        Assert.Equal(expected.Order(), lines.Select(static line => line.Split(' ')[6]).Order());
    }

    [Fact]
    public async Task A_log_that_cannot_be_opened_is_an_error_at_the_start()
    {
        ToolResult result = await Tool.RunAsync(
            Publication.Program, _site.Root, "--listen", "127.0.0.1:0", "--access-log", _folder.PathOf("none/access.log"));
        result.AssertRefused(2, "cannot be opened", "does not exist");
    }

    [Theory]
    [InlineData("is not an access log format", "--access-log", "-", "--access-log-format", "fancy")]
    [InlineData("add --access-log", "--access-log-format", "json")]
    public async Task A_mistake_in_its_flags_is_answered_in_one_line(string words, params string[] arguments) =>
        (await Tool.RunAsync(Publication.Program, arguments)).AssertRefused(2, words);

    [Fact]
    public async Task A_signal_to_rotate_does_no_harm_without_a_log()
    {
        await using ServerProcess server = await ServerProcess.StartAsync(_site.Root, "--listen", "127.0.0.1:0");
        server.Signal(User1);
        Assert.Equal(404, Wire.Get(server.Url, "/none").Status);
        await StopAsync(server);
    }

    [Fact]
    public async Task A_full_disk_is_logged_and_lines_go_on_where_they_stopped_when_there_is_space()
    {
        const int Requests = 250;
        using SmallDisk disk = await SmallDisk.MountAsync(_folder, 64);
        string log = disk.PathOf("access.log");
        string ballast = disk.PathOf("ballast");
        File.WriteAllBytes(ballast, new byte[48 * 1024]);
        await using ServerProcess server = await StartAsync(log, []);
        using (Wire wire = Wire.Open(server.Url))
        {
            for (int i = 0; i < Requests; i++)
            {
                Assert.Equal(404, wire.Ask($"/{i}", "User-Agent: " + new string('u', 100)).Status);
            }
        }

        await server.AwaitErrorAsync("No space left on device");
        Assert.NotInRange(File.ReadAllLines(log).Length, Requests, int.MaxValue);
        File.Delete(ballast);
        await server.AwaitErrorAsync("works again (failed attempts: ");
        await StopAsync(server);

        string[] lines = File.ReadAllLines(log);
        Assert.All(lines, static line => Assert.Matches(Combined(), line));
        Assert.Equal(Enumerable.Range(0, Requests).Select(static i => $"/{i}"), lines.Select(static line => line.Split(' ')[6]));
    }

    [Fact]
    public async Task A_slow_reader_of_a_pipe_holds_up_no_request_and_what_is_dropped_is_counted()
    {
        const int Requests = 15_000;
        await using ServerProcess server = await StartAsync("-", ["--reactors", "1"]);
        string field = "User-Agent: " + new string('u', 200);
        using (Wire wire = Wire.Open(server.Url))
        {
            for (int i = 0; i < Requests; i++)
            {
                Assert.Equal(404, wire.Ask($"/{i}", field).Status);
            }
        }

        server.Signal(PosixSignal.SIGTERM);
        int read = 0;
        int last = -1;
        while (await server.ReadLineAsync() is { } line)
        {
            Assert.Matches(Combined(), line);
            int number = int.Parse(line.Split(' ')[6][1..], System.Globalization.CultureInfo.InvariantCulture);
            Assert.True(number > last, "out of order");
            last = number;
            read++;
        }

        Assert.Equal(0, await server.ExitCodeAsync());
        MatchCollection reported = Dropped().Matches(await server.ErrorAsync());
        Assert.NotEmpty(reported);
        Assert.Equal(Requests - read, reported.Sum(static match => int.Parse(match.Groups[1].Value, System.Globalization.CultureInfo.InvariantCulture)));
    }

    [Fact]
    public async Task The_systems_log_gets_a_datagram_for_each_line_and_again_when_it_was_restarted()
    {
        string path = _folder.PathOf("log");
        Socket daemon = Listen(path);
        await using ServerProcess server = await StartAsync($"syslog:{path}", ["--access-log-format", "json"]);

        _ = Wire.Get(server.Url, "/first");
        Assert.Contains("\"target\":\"/first\"", await ReceiveAsync(daemon), StringComparison.Ordinal);
        daemon.Dispose();
        File.Delete(path);
        using Socket next = Listen(path);
        _ = Wire.Get(server.Url, "/second");
        string datagram = await ReceiveAsync(next);
        await StopAsync(server);

        Match match = Syslog().Match(datagram);
        Assert.True(match.Success, datagram);
        Assert.Equal("/second", JsonDocument.Parse(match.Groups["line"].Value).RootElement.GetProperty("target").GetString());
    }

    private static int Ask(Uri url, int client, CancellationToken done)
    {
        using Wire wire = Wire.Open(url);
        int asked = 0;
        while (!done.IsCancellationRequested)
        {
            Assert.Equal(200, wire.Ask($"/a.bin?{client}.{asked}").Status);
            asked++;
        }

        return asked;
    }

    private static async Task<int> CurlAsync(params string[] arguments)
    {
        Tool.Require("curl");
        return (await Tool.RunAsync("curl", arguments)).ExitCode;
    }

    private static async Task<string> AwaitLinesAsync(string path, int lines)
    {
        string text = "";
        await AwaitAsync(() => (text = File.ReadAllText(path)).Count(static character => character == '\n') >= lines);
        return text;
    }

    private static Task AwaitFileAsync(string path) => AwaitAsync(() => File.Exists(path));

    private static async Task AwaitAsync(Func<bool> isSo)
    {
        using var deadline = new CancellationTokenSource(Patience);
        while (!isSo())
        {
            await Task.Delay(5, deadline.Token);
        }
    }

    private static Socket Listen(string path)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Dgram, ProtocolType.Unspecified);
        socket.Bind(new UnixDomainSocketEndPoint(path));
        return socket;
    }

    private static async Task<string> ReceiveAsync(Socket socket)
    {
        using var deadline = new CancellationTokenSource(Patience);
        byte[] room = new byte[64 * 1024];
        return Encoding.UTF8.GetString(room, 0, await socket.ReceiveAsync(room, deadline.Token));
    }

    private static async Task StopAsync(ServerProcess server)
    {
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());
    }

    private Task<ServerProcess> StartAsync(params string[] arguments) => StartAsync(LogPath, arguments);

    private Task<ServerProcess> StartAsync(string log, string[] arguments) =>
        ServerProcess.StartAsync([_site.Root, "--listen", "127.0.0.1:0", "--access-log", log, .. arguments]);

    [GeneratedRegex("""^\S+ - - \[[^\]]+\] "[^"]+" \d{3} \d+ "[^"]+" "[^"]+"$""")]
    private static partial Regex Combined();

    [GeneratedRegex(@"Access log lines dropped: (\d+)")]
    private static partial Regex Dropped();

    [GeneratedRegex(@"^<30>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d millrace\[\d+\]: (?<line>\{.*\})$")]
    private static partial Regex Syslog();
}
