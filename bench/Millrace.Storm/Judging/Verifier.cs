using System.Collections.Concurrent;
using System.Diagnostics;
using System.Text;
using Millrace.Storm.Site;
using Millrace.Storm.Wire;

namespace Millrace.Storm.Judging;

/// <summary>
/// Knows what every path was when, and so which answers are right: what the path was at some moment between a little before the
/// request was sent (the time in which a deployment has to be seen) and the arrival of the answer's last byte.
/// While a file is written in place, some of both is what the file is; then a connection may also end early.
/// </summary>
internal sealed class Verifier(SiteFolder site, Tally tally, TimeSpan fresh)
{
    /// <summary>A deployment may take as long to be seen at first, while everything warms up.</summary>
    private static readonly TimeSpan Grace = TimeSpan.FromSeconds(5);

    private readonly ConcurrentDictionary<(string Path, string Tag), Content> _tags = new();

    private long _graceEndedAt = long.MaxValue;

    /// <summary>What is deployed from now on has to be seen in time. Everything else is judged alike before and after.</summary>
    public void EndGrace() => Volatile.Write(ref _graceEndedAt, Stopwatch.GetTimestamp());

    /// <summary>How soon something must be seen that was deployed then; null in the time of grace, in which nothing is measured.</summary>
    public TimeSpan? FreshSince(long deployedAt) => deployedAt > Volatile.Read(ref _graceEndedAt) ? fresh : null;

    /// <summary>Judges an answer, and says what a client has that keeps it; null where that is nothing.</summary>
    /// <param name="question">What was asked.</param>
    /// <param name="response">What came.</param>
    /// <param name="behind">What was asked behind it on the same connection: that ends for all of them.</param>
    public Content? Check(Question question, Response response, ReadOnlySpan<Question> behind = default)
    {
        List<State> states = StatesOf(question.Path, question.SentAt, response.ReceivedAt);
        Content? content = null;
        tally.Count("answers");
        tally.Count("bytes", response.Body.Length);
        tally.Count(response.IsCut ? "cut" : $"{response.Status}");
        string? fault = response switch
        {
            { IsCut: true } => IsTornBehind(behind, response) ? null : CutFault(response, states),
            { Status: 200 } => WholeFault(question, response, states, out content),
            { Status: 206 } => PartialFault(question, response, states),
            { Status: 304 } => UnchangedFault(question, response, states),
            { Status: 404 } => states.Exists(static state => state.Edition is null) ? null : "is said to be missing",
            { Status: 416 } => states.Exists(state => state.IsTorn || response.Field("Content-Range") == $"bytes */{state.Bytes}")
                ? null : "is said to be shorter",
            _ => "got an answer that nothing explains",
        };
        if (fault is not null)
        {
            double ms = Stopwatch.GetElapsedTime(question.SentAt, response.ReceivedAt).TotalMilliseconds;
            tally.Fault($"{Thread.CurrentThread.Name}: {question}: {fault} ({response.Status}, {response.Body.Length} bytes, tag {response.Tag}, after {ms:f1} ms)");
        }

        return content;
    }

    private List<State> StatesOf(string path, long sentAt, long receivedAt)
    {
        // What the last deployment of the time of grace replaced may be seen that long.
        TimeSpan before = FreshSince(sentAt - Ticks(Grace)) ?? Grace;
        return site.HistoryOf(path).Between(sentAt - Ticks(before), receivedAt);
    }

    private static long Ticks(TimeSpan time) => (long)(time.TotalSeconds * Stopwatch.Frequency);

    /// <summary>The connection ended for the sake of another answer.</summary>
    private bool IsTornBehind(ReadOnlySpan<Question> behind, Response response)
    {
        foreach (Question question in behind)
        {
            if (StatesOf(question.Path, question.SentAt, response.ReceivedAt).Exists(static state => state.IsTorn))
            {
                tally.Count("cut for another");
                return true;
            }
        }

        return false;
    }

    private static string? CutFault(Response response, List<State> states)
    {
        if (!states.Exists(static state => state.IsTorn))
        {
            return "ended early, and nobody had written to it";
        }

        bool isExplained = response.Status != 200 || response.Coding.Length > 0 || Torn.Explains(states, 0, response.Body);
        return isExplained ? null : "ended early, after bytes that it never had";
    }

    private string? WholeFault(Question question, Response response, List<State> states, out Content? content)
    {
        content = null;
        byte[] body;
        try
        {
            body = response.Decode();
        }
        catch (InvalidDataException error)
        {
            return $"does not decode: {error.Message}";
        }

        bool isTorn = states.Exists(static state => state.IsTorn);
        AddVariant(states, question, response, response.Coding);
        bool isIdentified = Edition.TryIdentify(0, body, out Edition edition);
        long difference = isIdentified ? edition.FirstDifference(0, body) : 0;
        if (difference < 0 && states.Exists(state => !state.IsTorn && state.Edition == edition && state.Bytes == body.Length))
        {
            content = new Content(response.Coding, edition, body.Length);
            return isTorn ? null : TagFault(question.Path, response, content);
        }

        content = new Content(response.Coding, null, body.Length);
        if (ExplainTorn(states, 0, body))
        {
            return null;
        }

        return (isIdentified, difference) switch
        {
            (false, _) => "came with bytes that no version begins with",
            (true, >= 0) =>
                $"is mixed: version {edition.Version} ends at byte {difference}, before {Excerpt(body, difference)}; not {Describe(states)}",
            _ => DescribeUnexplained(question, edition, body.Length, states),
        };
    }

    private string? PartialFault(Question question, Response response, List<State> states)
    {
        Edition? whole = null;
        bool isTorn = states.Exists(static state => state.IsTorn);
        foreach (Part part in Parts.Of(response))
        {
            bool isWhole = Edition.TryIdentify(part.First, part.Bytes.Span, out Edition edition)
                && edition.FirstDifference(part.First, part.Bytes.Span) < 0
                && states.Exists(state => !state.IsTorn && state.Edition == edition && state.Bytes == part.Total);
            if (!isWhole)
            {
                if (!ExplainTorn(states, part.First, part.Bytes.Span))
                {
                    return $"has a part from {part.First} of {part.Total} that is of no version of now";
                }

                continue;
            }

            if (whole is not null && whole != edition && !isTorn)
            {
                return $"is mixed of versions {whole.Value.Version} and {edition.Version}";
            }

            whole = edition;
        }

        if (whole is null || isTorn)
        {
            return null;
        }

        return question is { IfRange: not null, Held: { } held } && held.Edition != whole
            ? $"would be mixed: version {whole.Value.Version} behind what was begun with {Describe(held)}"
            : TagFault(question.Path, response, new Content("", whole.Value, states.Find(state => state.Edition == whole)!.Bytes));
    }

    private string? UnchangedFault(Question question, Response response, List<State> states)
    {
        if (question.Held is not { } held)
        {
            return "is unchanged since nothing";
        }

        AddVariant(states, question, response, held.Coding);
        bool isSame = states.Exists(state => state.IsTorn || (held.Edition is not null && state.Edition == held.Edition && state.Bytes == held.Bytes));
        return isSame ? null : $"is said to be {Describe(held)} still: {Describe(states)}";
    }

    /// <summary>A coded answer is of the sibling with that coding, or made of the file itself.</summary>
    private void AddVariant(List<State> states, Question question, Response response, string coding)
    {
        if (coding.Length > 0)
        {
            states.AddRange(StatesOf(question.Path + (coding switch { "br" => ".br", "zstd" => ".zst", _ => ".gz" }), question.SentAt, response.ReceivedAt));
        }
    }

    /// <summary>One strong tag is one content, for ever.</summary>
    private string? TagFault(string path, Response response, Content content)
    {
        if (response.StrongTag is not string tag)
        {
            return null;
        }

        Content known = _tags.GetOrAdd((path, tag), content);
        return known == content ? null : $"is {Describe(content)} under the tag of {Describe(known)}";
    }

    private bool ExplainTorn(List<State> states, long offset, ReadOnlySpan<byte> bytes)
    {
        bool isExplained = Torn.Explains(states, offset, bytes);
        tally.Count("seen while written in place", isExplained ? 1 : 0);
        return isExplained;
    }

    private string DescribeUnexplained(Question question, Edition edition, int bytes, List<State> states)
    {
        string version = $"version {edition.Version} with {bytes} of {edition.Length} bytes";
        return site.HistoryOf(question.Path).Was(edition) ? $"is stale: {version}, not {Describe(states)}" : $"is wrong: {version}, not {Describe(states)}";
    }

    private static string Excerpt(byte[] body, long at) =>
        Encoding.ASCII.GetString(body.AsSpan((int)at, (int)Math.Min(Edition.LineBytes, body.Length - at))).Replace('\n', ' ').Replace('\0', '0');

    private static string Describe(Content content) =>
        content.Edition is { } edition ? $"version {edition.Version} ({content.Bytes} bytes)" : "some of two versions";

    private static string Describe(List<State> states) =>
        string.Join(" or ", states.Select(static state => state.Edition is { } edition ? $"{(state.IsTorn ? "on the way to " : "")}version {edition.Version} ({state.Bytes} bytes)" : "missing"));
}
