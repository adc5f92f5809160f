using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A process that may open few files still serves many.</summary>
public class ScarceDescriptorTests
{
    private const int DescriptorsMax = 256;

    /// <summary>Half of those of a server that holds no file open.</summary>
    private const int HalfOfThem = 256;
    private const int FilesCount = 1_000;
    private const int FileBytes = 2_000;
    private const int Readers = 16;

    /// <summary>With fewer .NET cannot even open the standard streams.</summary>
    private const int RuntimesOwn = 6;

    [Fact]
    public async Task A_thousand_files_are_served_with_256_descriptors()
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        byte[][] bodies = MakeFiles(folder);
        await using ServerProcess server = await StartAsync(folder);

        await Parallel.ForAsync(0, Readers, (reader, _) =>
        {
            using Wire wire = Wire.Open(server.Url);
            for (int i = reader; i < FilesCount; i += Readers)
            {
                WireResponse response = wire.Ask(TargetOf(i));
                Assert.True(response.Status == 200 && response.Body.AsSpan().SequenceEqual(bodies[i]), $"{TargetOf(i)}: {response.Head}");
            }

            return ValueTask.CompletedTask;
        });

        Assert.InRange(server.CountDescriptors(), 1, DescriptorsMax);
    }

    [Fact]
    public async Task More_connections_than_descriptors_are_turned_away_and_the_next_are_served()
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        byte[] body = folder.Add("a.bin", FileBytes);
        await using ServerProcess server = await StartAsync(folder);
        List<Socket> clients = await ConnectMoreThanDescriptorsAsync(server.Url);
        clients.ForEach(static socket => socket.Dispose());

        // Until the server has met their ends it may refuse connections from their address.
        await AwaitServiceAsync(server.Url, "/a.bin", response => response.Status == 200 && response.Body.AsSpan().SequenceEqual(body));
    }

    [Fact]
    public async Task While_there_are_no_descriptors_it_neither_spins_nor_says_so_often()
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        folder.Add("a.txt", 10);
        await using ServerProcess server = await StartAsync(folder);
        List<Socket> clients = await ConnectMoreThanDescriptorsAsync(server.Url);
        TimeSpan before = server.ProcessorTime;
        // Sleeps: the processor's time is measured over it.
        await Task.Delay(TimeSpan.FromSeconds(1));
        TimeSpan used = server.ProcessorTime - before;
        clients.ForEach(static socket => socket.Dispose());
        await AwaitServiceAsync(server.Url, "/a.txt", static response => response.Status == 200);

        Assert.InRange(used, TimeSpan.Zero, TimeSpan.FromSeconds(0.5));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());

        // One for each reactor that ran out of them, and one for those that were turned away instead.
        string said = await server.ErrorAsync();
        Assert.InRange(
            said.Split("pauses").Length - 1 + said.Split("Turned away").Length - 1, 1, Environment.ProcessorCount + 1);
        Assert.DoesNotContain("--connections", said, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    public async Task Streams_that_stall_leave_descriptors_for_other_clients(int window)
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        byte[] body = folder.Add("large.bin", 3_000_000);
        await using ServerProcess server = await StartWithoutHeldFilesAsync(folder);
        using Crowd crowd = await Crowd.GatherAsync(
            server.Url, "127.0.0.2", 8, [.. Crowd.Preface(window), .. Crowd.Requests("/large.bin")]);

        // Another one's requests, whose files are opened for each of them.
        for (int i = 0; i < 20; i++)
        {
            WireResponse response = Wire.Get(server.Url, "/large.bin");
            Assert.True(response.Status == 200 && response.Body.AsSpan().SequenceEqual(body), response.Head);
        }

        Assert.InRange(CountOpenFiles(server, folder), 0, window == 0 ? 0 : HalfOfThem);
    }

    [Theory]
    [InlineData("")]
    [InlineData("Range: bytes=1-2900000\r\n")]
    [InlineData("Range: bytes=0-2500000,2600000-2999999\r\n")]
    public async Task Downloads_that_stall_leave_descriptors_for_other_clients(string fields)
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        byte[] page = folder.Add("index.html", FileBytes);
        byte[] body = folder.Add("large.bin", 3_000_000);
        await using ServerProcess server = await StartWithoutHeldFilesAsync(folder);
        byte[] request = System.Text.Encoding.ASCII.GetBytes($"GET /large.bin HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        using Crowd crowd = await Crowd.GatherAsync(server.Url, "127.0.0.2", 300, request);
        AssertServed(Wire.Get(server.Url, "/"), 200, page);

        // One connection, so that what is not given back adds up for its client.
        using Wire wire = Wire.Open(server.Url);
        for (int i = 0; i < 40; i++)
        {
            AssertServed(wire.Ask("/"), 200, page);
            AssertServed(wire.Ask("/large.bin"), 200, body);
            AssertServed(wire.Ask("/large.bin", "Range: bytes=2000-1999999"), 206, body[2_000..2_000_000]);
            Assert.Equal(206, wire.Ask("/large.bin", "Range: bytes=0-9,2000000-2000009").Status);
            Assert.Equal(206, wire.Ask("/", "Range: bytes=5-1000").Status);
            Assert.Equal(304, wire.Ask("/", $"If-None-Match: {wire.Ask("/").Field("ETag")}").Status);
            using Wire other = Wire.Open(server.Url);
            Assert.Contains(" 200 ", other.HeadOf("/large.bin"));
        }

        Assert.InRange(CountOpenFiles(server, folder), 0, HalfOfThem);
    }

    [Theory]
    [InlineData("")]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\n")]
    [InlineData("GET /a.txt HTTP/1.1\r\nHost: a\r\n\r\n")]
    public async Task Connections_of_one_client_leave_a_descriptor_for_anothers(string sent)
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        byte[] body = folder.Add("a.txt", 10);
        await using ServerProcess server = await StartAsync(folder);
        using Crowd crowd = await Crowd.GatherAsync(server.Url, "127.0.0.2", 2 * DescriptorsMax, System.Text.Encoding.ASCII.GetBytes(sent));
        for (int i = 0; i < 20; i++)
        {
            WireResponse response = Wire.Get(server.Url, "/a.txt");
            Assert.True(response.Status == 200 && response.Body.AsSpan().SequenceEqual(body), response.Head);
        }
    }

    /// <summary>With each number of descriptors from few to enough, so that each step of a start is the one that lacks one.</summary>
    [Theory]
    [Trait("Duration", "Full")]
    [InlineData]
    [InlineData("--https=127.0.0.1:0", "--cert", "FOLDER/a.crt", "--key", "FOLDER/a.key", "--auth", "FOLDER/users", "--admin", "0")]
    [InlineData("--access-log", "FOLDER/access.log", "--dictionaries", "--https=127.0.0.1:0", "--dictionary-dir", "FOLDER/dictionaries")]
    [InlineData("--config", "FOLDER/m.json", "--maintenance", "FOLDER/maintenance")]
    public async Task A_start_with_too_few_descriptors_names_their_limit_and_what_raises_it(params string[] flags)
    {
        Tool.Require("prlimit");
        Assert.SkipWhen(File.Exists(Path.ChangeExtension(Publication.Program, ".dll")), ".NET's own start needs more.");
        using var folder = new TempFolder();
        OwnCertificate.Make(folder, "a", "a.example");
        folder.WriteText("users", $"a:$2y$04$abcdefghijklmnopqrstuuGkE9WyFdXwvY8n1bNTDmqjzQd1m0qWq\n");
        folder.WriteText("m.json", "{ \"listing\": true }");
        Directory.CreateDirectory(folder.PathOf("site"));
        folder.WriteText("site/index.html", "a page");
        string[] filled = [.. flags.Select(flag => flag.Replace("FOLDER", folder.Root, StringComparison.Ordinal))];
        int refusals = 0;
        for (int most = RuntimesOwn; ; most++)
        {
            ToolResult result = await Tool.RunAsync(
                "timeout",
                [
                    "1", "prlimit", $"--nofile={most}:{most}", Publication.Program, folder.PathOf("site"), "--listen", "127.0.0.1:0",
                    "--reactors", "1", .. filled, .. Publication.BackendFlags,
                ]);
            if (result.Output.Contains("Listening", StringComparison.Ordinal))
            {
                break;
            }

            Assert.Equal(1, result.ExitCode);
            string refusal = Assert.Single(
                result.Error.Split('\n'), static line => line.StartsWith("millrace: ", StringComparison.Ordinal));
            Assert.Contains($"all {most} descriptors that this process may have are in use", refusal, StringComparison.Ordinal);
            Assert.EndsWith("aise the limit ('ulimit -n', LimitNOFILE= in a unit file).", refusal, StringComparison.Ordinal);
            refusals++;
        }

        Assert.InRange(refusals, 5, 100);
    }

    /// <summary>Sends requests until one is served; the first ones may be refused.</summary>
    /// <summary>Twice as many connections as the server has descriptors; it resets some of them, maybe before the client knows of it.</summary>
    private static async Task<List<Socket>> ConnectMoreThanDescriptorsAsync(Uri server)
    {
        List<Socket> clients = [];
        for (int i = 0; i < 2 * DescriptorsMax; i++)
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            clients.Add(socket);
            try
            {
                await socket.ConnectAsync(server.Host, server.Port);
            }
            catch (SocketException e) when (e.SocketErrorCode == SocketError.ConnectionReset)
            {
                // Accepted and turned away between the handshake and the return of connect.
            }
        }

        return clients;
    }

    private static async Task AwaitServiceAsync(Uri server, string target, Func<WireResponse, bool> isAsItShouldBe)
    {
        using var patience = new CancellationTokenSource(TimeSpan.FromSeconds(30));
        while (true)
        {
            try
            {
                await Wire.AwaitAsync(server, target, isAsItShouldBe);
                return;
            }
            catch (Exception turnedAway) when (turnedAway is IOException or SocketException)
            {
                await Task.Delay(5, patience.Token);
            }
        }
    }

    /// <summary>No file is small enough to be kept in memory.</summary>
    private static Task<ServerProcess> StartAsync(TempFolder folder) => ServerProcess.StartAsync(
        "prlimit",
        [
            $"--nofile={DescriptorsMax}:{DescriptorsMax}", Publication.Program, folder.Root, "--cache-max-file", "1k",
            "--listen", "127.0.0.1:0", .. Publication.BackendFlags,
        ],
        lastLine: "Serving ");

    /// <summary>Each file is opened for each answer.</summary>
    private static Task<ServerProcess> StartWithoutHeldFilesAsync(TempFolder folder) => ServerProcess.StartAsync(
        "prlimit",
        [
            $"--nofile={2 * HalfOfThem}:{2 * HalfOfThem}", Publication.Program, folder.Root, "--descriptors", "0", "--cache-max-file", "1k",
            "--listen", "127.0.0.1:0", .. Publication.BackendFlags,
        ],
        lastLine: "Serving ");

    private static int CountOpenFiles(ServerProcess server, TempFolder folder) =>
        server.OpenFiles().Count(path => path.StartsWith(folder.Root + "/", StringComparison.Ordinal));

    private static void AssertServed(WireResponse response, int status, byte[] body) =>
        Assert.True(response.Status == status && response.Body.AsSpan().SequenceEqual(body), response.Head);

    private static string TargetOf(int i) => $"/{i % 50}/{i}.bin";

    private static byte[][] MakeFiles(TempFolder folder)
    {
        for (int i = 0; i < 50; i++)
        {
            Directory.CreateDirectory(folder.PathOf($"{i}"));
        }

        return [.. Enumerable.Range(0, FilesCount).Select(i => folder.Add(TargetOf(i)[1..], FileBytes + i))];
    }
}
