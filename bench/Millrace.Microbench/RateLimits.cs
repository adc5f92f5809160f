using System.Buffers.Binary;
using System.Net;
using BenchmarkDotNet.Attributes;
using Millrace.HttpServer.RateLimiting;
using Millrace.StaticFiles;
using Millrace.StaticFiles.Access;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.Microbench;

/// <summary>What a rate limit adds to a request: one client, and a different one of 1,000,000 each time.</summary>
public class RateLimits
{
    private const int Clients = 1_000_000;

    private readonly RateLimiter _limiter = new();
    private readonly PlanScratch _scratch = new();
    private readonly IPAddress[] _clients = new IPAddress[Clients];
    private readonly RateLimitRules _all = Rules("1000000/s burst 1000000");
    private readonly RateLimitRules _paths = Rules("/api/* 1000000/s burst 1000000");
    private int _next;
    private long _nowMs = 1_000_000;

    [GlobalSetup]
    public void Fill()
    {
        byte[] address = new byte[4];
        var random = new Random(1);
        for (int i = 0; i < Clients; i++)
        {
            BinaryPrimitives.WriteInt32BigEndian(address, random.Next());
            _clients[i] = new IPAddress(address);
        }
    }

    [Benchmark(Baseline = true)]
    public bool OneClient() => _limiter.Exceeded(_all, _clients[0], default, ++_nowMs, out _) is null;

    [Benchmark]
    public bool OneOfAMillionClients()
    {
        _next = _next + 1 == Clients ? 0 : _next + 1;
        return _limiter.Exceeded(_all, _clients[_next], default, _nowMs, out _) is null;
    }

    [Benchmark]
    public bool OneClientByPath()
    {
        var decoded = DecodedPath.Decode("/api/users/1234"u8, mergeSlashes: true, _scratch);
        var path = new PathReadings(decoded.ForAccess, _scratch);
        return _limiter.Exceeded(_paths, _clients[0], path, ++_nowMs, out _) is null;
    }

    private static RateLimitRules Rules(string text) =>
        RateLimitRules.Of(new SiteOptions { Root = "/", RateLimits = [RateLimitRule.Parse(text)] })!;
}
