using Millrace.Storm.Judging;
using Millrace.Storm.Site;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Clients;

/// <summary>Asks for parts: some at random, and the rest of what it has, which must be the rest of the same or all of the new.</summary>
internal sealed class Ranger(int port, Verifier judge, Tally tally, int pauseMs, int seed) : Client(port, judge, tally, pauseMs, seed)
{
    /// <summary>Any piece as long holds a whole line, by which it is known.</summary>
    private const int PieceBytesMin = 2 * Edition.LineBytes;

    private readonly Tally _tally = tally;

    protected override void Step()
    {
        if (Chance.Next(3) == 0)
        {
            Resume();
        }
        else
        {
            StandingFile file = Chance.GetItems(StandingFile.All, 1)[0];
            Ask(new Question(file.Path) { Range = PickRange(file.BytesMin) });
        }
    }

    /// <summary>A whole answer, and then its second half under its tag: as it is on the wire, coded or not.</summary>
    private void Resume()
    {
        var question = new Question(PickPath()) { AcceptEncoding = PickCoding() };
        Response whole = Ask(question, out Content? content);
        if (content is null || whole.StrongTag is not string tag || whole.Body.Length < 2 * PieceBytesMin)
        {
            return;
        }

        int middle = Chance.Next(PieceBytesMin, whole.Body.Length - PieceBytesMin);
        Question rest = question with { Range = $"bytes={middle}-", IfRange = tag, Held = content };
        if (whole.Coding.Length == 0)
        {
            Ask(rest);
            return;
        }

        Response response = Connect().Ask(rest);
        if (response.Status != 206)
        {
            Check(rest, response);
        }
        else if (response.Tag != tag || !response.Body.AsSpan().SequenceEqual(whole.Body.AsSpan(middle)))
        {
            _tally.Fault($"{rest} goes on with other bytes than it began with, under the tag {response.Tag}");
        }
    }

    private string PickRange(long bytesMin)
    {
        long first = Chance.NextInt64(0, bytesMin - PieceBytesMin);
        long last = Chance.NextInt64(first + PieceBytesMin, bytesMin);
        return Chance.Next(5) switch
        {
            0 => $"bytes={first}-{last}",
            1 => $"bytes={first}-",
            2 => $"bytes=-{bytesMin - first}",
            3 => $"bytes=0-{PieceBytesMin - 1}, {first}-{last}",
            _ => $"bytes={first}-{first + PieceBytesMin}, -{PieceBytesMin}",
        };
    }
}
