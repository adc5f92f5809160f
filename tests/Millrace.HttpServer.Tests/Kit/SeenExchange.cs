using System.Net;
using System.Text;
using System.Threading.Channels;
using Millrace.Http;
using Millrace.HttpServer.Exchanges;
using HttpVersion = Millrace.Http.HttpVersion;

namespace Millrace.HttpServer.Tests.Kit;

/// <summary>What an observer saw of one exchange.</summary>
internal sealed record SeenExchange(
    string Line,
    string Malformed,
    string Host,
    string Referer,
    string UserAgent,
    string ForwardedFor,
    string Forwarded,
    HttpVersion Protocol,
    int Status,
    long BodyBytes,
    bool IsWhole,
    ResponseBodySource Body,
    ContentCoding Coding,
    DateTime StartedAt,
    TimeSpan Elapsed,
    EndPoint? Peer,
    string? Upstream,
    TimeSpan UpstreamElapsed)
{
    public static SeenExchange Of(HttpExchange exchange) => new(
        $"{Text(exchange.Method)} {Text(exchange.Target)}",
        Text(exchange.MalformedLine),
        Text(exchange.Host),
        Text(exchange.Referer),
        Text(exchange.UserAgent),
        Text(exchange.ForwardedFor),
        Text(exchange.Forwarded),
        exchange.Protocol,
        exchange.Status,
        exchange.BodyBytes,
        exchange.IsWhole,
        exchange.Body,
        exchange.Coding,
        exchange.StartedAt,
        exchange.Elapsed,
        exchange.Peer,
        exchange.Upstream,
        exchange.UpstreamElapsed);

    private static string Text(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);
}

/// <summary>Keeps all exchanges, for a test to read in that order.</summary>
internal sealed class RecordingObserver
{
    private static readonly TimeSpan Deadline = TimeSpan.FromSeconds(60);

    private readonly Channel<SeenExchange> _seen = Channel.CreateUnbounded<SeenExchange>();

    public void OnFinished(HttpExchange exchange) => Assert.True(_seen.Writer.TryWrite(SeenExchange.Of(exchange)));

    /// <summary>The next exchange.</summary>
    public async Task<SeenExchange> NextAsync()
    {
        using var deadline = new CancellationTokenSource(Deadline);
        return await _seen.Reader.ReadAsync(deadline.Token);
    }

    /// <summary>All exchanges that were not read.</summary>
    public List<SeenExchange> TakeAll()
    {
        var all = new List<SeenExchange>();
        while (_seen.Reader.TryRead(out SeenExchange? seen))
        {
            all.Add(seen);
        }

        return all;
    }
}
