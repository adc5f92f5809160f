using Millrace.Storm.Judging;
using Millrace.Storm.Site;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Clients;

/// <summary>Keeps its connection and what it has read, and asks whether that is still right.</summary>
internal sealed class Reader(int port, Verifier judge, Tally tally, int pauseMs, int seed) : Client(port, judge, tally, pauseMs, seed)
{
    private readonly Dictionary<(string Path, string? AcceptEncoding), (string Tag, Content Content)> _kept = [];

    protected override void Step()
    {
        var key = (Path: PickPath(), AcceptEncoding: PickCoding());
        var question = new Question(key.Path) { AcceptEncoding = key.AcceptEncoding };
        if (Chance.Next(2) == 0 && _kept.TryGetValue(key, out (string Tag, Content Content) kept))
        {
            question = question with { IfNoneMatch = kept.Tag, Held = kept.Content };
        }

        Response response = Ask(question, out Content? content);
        if (response.StrongTag is string tag && content is not null)
        {
            _kept[key] = (tag, content);
        }
        else if (response.Status != 304)
        {
            _kept.Remove(key);
        }
    }
}

/// <summary>Has a new connection for every request.</summary>
internal sealed class Newcomer(int port, Verifier judge, Tally tally, int pauseMs, int seed) : Client(port, judge, tally, pauseMs, seed)
{
    protected override void Step()
    {
        Ask(new Question(PickPath()) { AcceptEncoding = PickCoding() });
        Leave();
    }
}

/// <summary>Asks for many things before it reads the first.</summary>
internal sealed class Pipeliner(int port, Verifier judge, Tally tally, int pauseMs, int seed) : Client(port, judge, tally, pauseMs, seed)
{
    private const int Depth = 12;

    protected override void Step()
    {
        Question[] questions = [.. Enumerable.Range(0, Depth).Select(_ => new Question(PickPath()) { AcceptEncoding = PickCoding() })];
        Peer peer = Connect();
        peer.Send(questions);
        for (int i = 0; i < Depth && !peer.IsEnded; i++)
        {
            Check(questions[i], peer.Read(), questions.AsSpan(i + 1));
        }
    }
}

/// <summary>Takes its time for something large, while that is replaced over and over.</summary>
internal sealed class SlowReader(int port, Verifier judge, Tally tally, int pauseMs, int seed) : Client(port, judge, tally, pauseMs, seed)
{
    private const long LargeBytes = 1_000_000;
    private const int ReceiveBufferBytes = 16 * 1024;
    private const int ReadPauseMs = 5;

    private static readonly StandingFile[] Large = [.. StandingFile.All.Where(static file => file.BytesMin >= LargeBytes)];

    protected override void Step()
    {
        var question = new Question(Chance.GetItems(Large, 1)[0].Path);
        Peer peer = Connect(ReceiveBufferBytes);
        peer.Send([question]);
        Check(question, peer.Read(static () => Thread.Sleep(ReadPauseMs)));
    }
}
