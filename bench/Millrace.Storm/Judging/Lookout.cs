using System.Diagnostics;
using Millrace.Storm.Site;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Judging;

/// <summary>Waits until a deployment is seen by a client, and notes how long that took.</summary>
internal sealed class Lookout(int port, SiteFolder site, Judge judge, Tally tally)
{
    private static readonly TimeSpan Patience = TimeSpan.FromSeconds(5);

    /// <summary>Asks until a path answers with what it is now. To be called right after it became that.</summary>
    public void Await(string kind, string path, string? coding = null)
    {
        long since = Stopwatch.GetTimestamp();
        State wanted = site.HistoryOf(path).Current;
        TimeSpan elapsed;
        // Judged when it is over: to check some megabytes takes longer than what is measured.
        List<(Question, Answer)> seen = [];
        var peer = new Peer(port);
        try
        {
            while (!IsSeen(peer, path, coding, wanted, since, seen, out elapsed))
            {
                if (elapsed > Patience)
                {
                    tally.Fault($"{path}: a {kind} was not seen for {elapsed.TotalMilliseconds:f0} ms");
                    return;
                }

                if (peer.IsEnded)
                {
                    peer.Dispose();
                    peer = new Peer(port);
                }

                // A millisecond is as fine as it is measured; asking without a pause would be a load of its own.
                Thread.Sleep(1);
            }
        }
        finally
        {
            peer.Dispose();
            seen.ForEach(pair => judge.Check(pair.Item1, pair.Item2));
        }

        if (judge.FreshSince(since) is { } fresh)
        {
            tally.Seen(kind, elapsed);
            if (elapsed > fresh)
            {
                tally.Fault($"{path}: a {kind} was seen after {elapsed.TotalMilliseconds:f0} ms only");
            }
        }
    }

    /// <summary>Asks for a path once.</summary>
    public void Ask(string path)
    {
        using var peer = new Peer(port);
        var question = new Question(path);
        judge.Check(question, peer.Ask(question));
    }

    private static bool IsSeen(
        Peer peer, string path, string? coding, State wanted, long since, List<(Question, Answer)> seen, out TimeSpan elapsed)
    {
        var question = new Question(path) { AcceptEncoding = coding };
        Answer answer = peer.Ask(question);
        // A large body takes its time to arrive; whose it is was decided before.
        elapsed = Stopwatch.GetElapsedTime(since, answer.BeganAt > 0 ? answer.BeganAt : answer.ReceivedAt);
        seen.Add((question, answer));
        return IsOf(wanted, answer, coding ?? "");
    }

    /// <summary>By its first line, which is enough to know what was meant; whether it is that is judged later.</summary>
    private static bool IsOf(State wanted, Answer answer, string coding)
    {
        if (wanted.Edition is null)
        {
            return answer.Status == 404;
        }

        return answer.Status == 200 && !answer.IsCut && answer.Coding == coding
            && answer.Decode() is var body && body.Length == wanted.Bytes
            && Edition.TryIdentify(0, body, out Edition edition) && edition == wanted.Edition;
    }
}
