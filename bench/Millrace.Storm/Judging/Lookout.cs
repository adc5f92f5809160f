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
        var peer = new Peer(port);
        try
        {
            while (!IsSeen(peer, path, coding, wanted, since, out elapsed))
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

    private bool IsSeen(Peer peer, string path, string? coding, State wanted, long since, out TimeSpan elapsed)
    {
        var question = new Question(path) { AcceptEncoding = coding };
        Answer answer = peer.Ask(question);
        elapsed = Stopwatch.GetElapsedTime(since);
        judge.Check(question, answer);
        return IsOf(wanted, answer, coding ?? "");
    }

    private static bool IsOf(State wanted, Answer answer, string coding)
    {
        if (wanted.Edition is not { } edition)
        {
            return answer.Status == 404;
        }

        return answer.Status == 200 && !answer.IsCut && answer.Coding == coding
            && answer.Decode() is var body && body.Length == wanted.Bytes && edition.FirstDifference(0, body) < 0;
    }
}
