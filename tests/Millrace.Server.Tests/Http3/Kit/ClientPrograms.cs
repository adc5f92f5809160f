using System.Security.Cryptography;
using Millrace.Server.Tests.Kit;

namespace Millrace.Server.Tests.Http3.Kit;

/// <summary>The clients that are made of a library: each of a small program of this folder.</summary>
internal static class ClientPrograms
{
    private const string GoPackages = "/usr/share/gocode";

    private static readonly TimeSpan Deadline = TimeSpan.FromMinutes(4);

    private static readonly Lazy<Task<string>> CompiledQuicGo = new(static () => CompileAsync());

    /// <summary>The program with quic-go, compiled once. Skips the test where that cannot be done.</summary>
    public static Task<string> QuicGoAsync()
    {
        Tool.Require("go");
        Assert.SkipUnless(Directory.Exists(GoPackages + "/src/github.com/lucas-clemente/quic-go/http3"), "quic-go is not installed.");
        return CompiledQuicGo.Value;
    }

    /// <summary>The script for Node with impit.</summary>
    public static async Task<string> ImpitAsync() => Path.Combine(await NodeProject.MakeAsync(SourceOf("Impit"), "impit"), "fetch.mjs");

    private static string SourceOf(string name) => Path.Combine(Places.Repository, "tests/Millrace.Server.Tests/Http3", name);

    private static async Task<string> CompileAsync()
    {
        string source = Path.Combine(SourceOf("QuicGo"), "client.go");
        string hash = Convert.ToHexStringLower(SHA256.HashData(await File.ReadAllBytesAsync(source)))[..16];
        string folder = Path.Combine(Places.Repository, "artifacts", "quic-go-client", hash);
        string program = Path.Combine(folder, "client");
        if (!File.Exists(program))
        {
            Directory.CreateDirectory(folder);
            await Tool.RunToSuccessAsync(
                Deadline, "env", "GO111MODULE=off", $"GOPATH={GoPackages}", $"GOCACHE={folder}/cache", "go", "build", "-o", program, source);
        }

        return program;
    }
}
