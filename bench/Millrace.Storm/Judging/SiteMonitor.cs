using System.Collections.Concurrent;
using System.Diagnostics;
using Millrace.Storm.Site;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Judging;

/// <summary>Waits until a deployment is seen by a client, and notes how long that took.</summary>
/// <remarks>On threads of its own, which yield to nobody: what they measure is the server, not their place in the queue.</remarks>
internal sealed class SiteMonitor : IDisposable
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    private const int FirstBytes = 4 * Edition.LineBytes;

    private readonly BlockingCollection<Task> _watches = [];
    private readonly int _port;
    private readonly SiteFolder _site;
    private readonly Verifier _judge;
    private readonly Tally _tally;

    /// <param name="port">The server's.</param>
    /// <param name="site">What is deployed.</param>
    /// <param name="judge">Judges all answers.</param>
    /// <param name="tally">Takes the times.</param>
    /// <param name="watchesMax">How many may wait at once.</param>
    public SiteMonitor(int port, SiteFolder site, Verifier judge, Tally tally, int watchesMax)
    {
        (_port, _site, _judge, _tally) = (port, site, judge, tally);
        for (int i = 0; i < watchesMax; i++)
        {
            new Thread(Run) { Name = nameof(SiteMonitor), IsBackground = true }.Start();
        }
    }

    /// <summary>Asks until a path answers with what it is now. To be called right after it became that.</summary>
    public void Await(string kind, string path, string? coding = null)
    {
        long since = Stopwatch.GetTimestamp();
        var watch = new Task(() => Watch(kind, path, coding, since));
        _watches.Add(watch);
        watch.GetAwaiter().GetResult();
    }

    public void Dispose() => _watches.CompleteAdding();

    private void Run()
    {
        foreach (Task watch in _watches.GetConsumingEnumerable())
        {
            watch.RunSynchronously();
        }
    }

    private void Watch(string kind, string path, string? coding, long since)
    {
        State wanted = _site.HistoryOf(path).Current;
        TimeSpan elapsed;
        // Judged when it is over: to check some megabytes takes longer than what is measured.
        List<(Question, Response)> seen = [];
        var peer = new Peer(_port);
        try
        {
            while (!IsSeen(peer, path, coding, wanted, since, seen, out elapsed))
            {
                if (elapsed > Patience)
                {
                    _tally.Fault($"{path}: a {kind} was not seen for {elapsed.TotalMilliseconds:f0} ms");
                    return;
                }

                if (peer.IsEnded)
                {
                    peer.Dispose();
                    peer = new Peer(_port);
                }

                // A millisecond is as fine as it is measured; asking without a pause would be a load of its own.
                Thread.Sleep(1);
            }
        }
        finally
        {
            peer.Dispose();
            seen.ForEach(pair => _judge.Check(pair.Item1, pair.Item2));
        }

        if (_judge.FreshSince(since) is { } fresh)
        {
            _tally.Seen(kind, elapsed);
            if (elapsed > fresh)
            {
                _tally.Fault($"{path}: a {kind} was seen after {elapsed.TotalMilliseconds:f0} ms only");
            }
        }
    }

    /// <summary>Asks for a path once.</summary>
    public void Ask(string path)
    {
        using var peer = new Peer(_port);
        var question = new Question(path);
        _judge.Check(question, peer.Ask(question));
    }

    private static bool IsSeen(
        Peer peer, string path, string? coding, State wanted, long since, List<(Question, Response)> seen, out TimeSpan elapsed)
    {
        // Of a file that is not coded its first lines tell, without the wait for some megabytes before the next question.
        var question = new Question(path) { AcceptEncoding = coding, Range = coding is null ? $"bytes=0-{FirstBytes - 1}" : null };
        Response response = peer.Ask(question);
        elapsed = Stopwatch.GetElapsedTime(since, response.BeganAt > 0 ? response.BeganAt : response.ReceivedAt);
        seen.Add((question, response));
        return IsOf(wanted, response, coding ?? "");
    }

    /// <summary>By its first line, which is enough to know what was meant; whether it is that is judged later.</summary>
    private static bool IsOf(State wanted, Response response, string coding)
    {
        if (wanted.Edition is null)
        {
            return response.Status == 404;
        }

        if (response.Status == 206)
        {
            return coding.Length == 0 && !response.IsCut
                && Parts.Of(response).Any(part => part.Total == wanted.Bytes
                    && Edition.TryIdentify(part.First, part.Bytes.Span, out Edition shown) && shown == wanted.Edition);
        }

        return response.Status == 200 && !response.IsCut && response.Coding == coding
            && response.Decode() is var body && body.Length == wanted.Bytes
            && Edition.TryIdentify(0, body, out Edition edition) && edition == wanted.Edition;
    }
}
