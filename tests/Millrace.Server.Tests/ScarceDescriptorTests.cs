using System.Net.Sockets;
using System.Runtime.InteropServices;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests;

/// <summary>A process that may open few files still serves many.</summary>
public class ScarceDescriptorTests
{
    private const int DescriptorsMax = 256;
    private const int FilesCount = 1_000;
    private const int FileBytes = 2_000;
    private const int Readers = 16;

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
                WireAnswer answer = wire.Ask(TargetOf(i));
                Assert.True(answer.Status == 200 && answer.Body.AsSpan().SequenceEqual(bodies[i]), $"{TargetOf(i)}: {answer.Head}");
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
        List<Socket> crowd = [];
        for (int i = 0; i < 2 * DescriptorsMax; i++)
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(server.Url.Host, server.Url.Port);
            crowd.Add(socket);
        }

        crowd.ForEach(static socket => socket.Dispose());

        await Wire.AwaitAsync(server.Url, "/a.bin", answer => answer.Status == 200 && answer.Body.AsSpan().SequenceEqual(body));
    }

    [Fact]
    public async Task While_there_are_no_descriptors_it_waits_and_says_so_once()
    {
        Tool.Require("prlimit");
        using var folder = new TempFolder();
        folder.Add("a.txt", 10);
        await using ServerProcess server = await StartAsync(folder);
        List<Socket> crowd = [];
        for (int i = 0; i < 2 * DescriptorsMax; i++)
        {
            var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(server.Url.Host, server.Url.Port);
            crowd.Add(socket);
        }

        TimeSpan before = server.ProcessorTime;
        await Task.Delay(TimeSpan.FromSeconds(1));
        TimeSpan used = server.ProcessorTime - before;
        crowd.ForEach(static socket => socket.Dispose());
        await Wire.AwaitAsync(server.Url, "/a.txt", static answer => answer.Status == 200);

        Assert.InRange(used, TimeSpan.Zero, TimeSpan.FromSeconds(0.5));
        server.Signal(PosixSignal.SIGTERM);
        Assert.Equal(0, await server.ExitCodeAsync());

        // One for each reactor that ran out of them.
        Assert.InRange((await server.ErrorAsync()).Split("pauses").Length - 1, 1, Environment.ProcessorCount);
    }

    /// <summary>No file is small enough to be kept in memory.</summary>
    private static Task<ServerProcess> StartAsync(TempFolder folder) => ServerProcess.StartAsync(
        "prlimit",
        [$"--nofile={DescriptorsMax}:{DescriptorsMax}", Publication.Program, folder.Root, "--bake-max", "1k", "--listen", "127.0.0.1:0", .. Publication.BackendFlags],
        lastLine: "Serving ");

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
