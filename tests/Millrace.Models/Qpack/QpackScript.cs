using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// What happens to a decoder, as bytes, so that a fuzzer can change it: first a byte for the settings, then steps. The low bits of a step's
/// first byte are its kind, the others the stream; a byte with the length and that many bytes follow.
/// </summary>
internal readonly record struct QpackScript(int TableBytesMax, int BlockedMax, IReadOnlyList<QpackStep> Steps)
{
    public static IReadOnlyList<int> Tables { get; } = [4096, 0, 100, 220];

    public static IReadOnlyList<int> Blocks { get; } = [2, 0, 1, 16];

    public static QpackScript Parse(ReadOnlySpan<byte> input)
    {
        var steps = new List<QpackStep>();
        int first = input.IsEmpty ? 0 : input[0];
        int at = 1;
        while (at < input.Length)
        {
            int kind = input[at];
            int length = at + 1 < input.Length ? Math.Min(input[at + 1], input.Length - at - 2) : 0;
            steps.Add(new QpackStep((QpackStepKind)(kind & 3), 4 * (kind >> 2), [.. input.Slice(Math.Min(at + 2, input.Length), length)]));
            at += 2 + length;
        }

        return new QpackScript(Tables[first & 3], Blocks[(first >> 2) & 3], steps);
    }

    /// <summary>What the model says of it: a text for each step, the last one after an error.</summary>
    public IEnumerable<string> ByModel()
    {
        var model = new ReferenceQpack(TableBytesMax, BlockedMax);
        var kept = new Dictionary<long, byte[]>();
        foreach (QpackStep step in Steps)
        {
            string said = step.Kind switch
            {
                QpackStepKind.Instructions => model.Instructions(step.Bytes),
                QpackStepKind.Section => model.Section(step.Stream, step.Bytes, step.DecodedBytesMax),
                QpackStepKind.Cancel => model.Cancel(step.Stream),
                _ => model.Acknowledge(),
            };
            if (said == "Blocked")
            {
                kept[step.Stream] = step.Bytes;
            }

            if (step.Kind == QpackStepKind.Acknowledge)
            {
                model.Advance(step.Bytes.Length);
            }

            while (step.Kind == QpackStepKind.Instructions && said == "Ok" && model.TakeUnblocked() is long stream)
            {
                said = $"unblocked {stream} {model.Section(stream, kept[stream], long.MaxValue)}";
                said = said.EndsWith("Ok", StringComparison.Ordinal) ? "Ok" : said;
            }

            yield return $"{step.Kind} {said}\n{model.State}";
            if (IsError(said))
            {
                yield break;
            }
        }
    }

    /// <summary>What the real decoder makes of it, in the same words.</summary>
    public IEnumerable<string> ByDecoder(byte[] scratch, int pieceBytes = int.MaxValue)
    {
        var decoder = new QpackDecoder(TableBytesMax, BlockedMax);
        var kept = new Dictionary<long, byte[]>();
        foreach (QpackStep step in Steps)
        {
            string said = step.Kind switch
            {
                QpackStepKind.Instructions => Instructions(decoder, step.Bytes, scratch, pieceBytes),
                QpackStepKind.Section => CollectedSection.Decode(decoder, step.Stream, step.Bytes, scratch, step.DecodedBytesMax),
                QpackStepKind.Cancel => decoder.Cancel(step.Stream).ToString(),
                _ => decoder.AcknowledgeInsertions().ToString(),
            };
            if (said == "Blocked")
            {
                kept[step.Stream] = step.Bytes;
            }

            if (step.Kind == QpackStepKind.Acknowledge)
            {
                decoder.Advance(Math.Min(step.Bytes.Length, decoder.Output.Length));
            }

            while (step.Kind == QpackStepKind.Instructions && said == "Ok" && decoder.TryTakeUnblocked(out long stream))
            {
                said = $"unblocked {stream} {CollectedSection.Decode(decoder, stream, kept[stream], scratch, long.MaxValue)}";
                said = said.EndsWith("Ok", StringComparison.Ordinal) ? "Ok" : said;
            }

            yield return $"{step.Kind} {said}\n{CollectedSection.StateOf(decoder)}";
            if (IsError(said))
            {
                yield break;
            }
        }
    }

    private static string Instructions(QpackDecoder decoder, byte[] bytes, byte[] scratch, int pieceBytes)
    {
        QpackResult result = QpackResult.Ok;
        for (int at = 0; at < bytes.Length && result == QpackResult.Ok; at += pieceBytes)
        {
            int length = Math.Min(pieceBytes, bytes.Length - at);
            result = decoder.ReadInstructions(bytes.AsSpan(at, length), scratch);
            if (pieceBytes == int.MaxValue)
            {
                break;
            }
        }

        return result.ToString();
    }

    private static bool IsError(string said) => said.Split('\n')[^1] is not ("Ok" or "Blocked" or "TooLarge");
}

/// <summary>A step of a <see cref="QpackScript"/>.</summary>
internal sealed record QpackStep(QpackStepKind Kind, long Stream, byte[] Bytes)
{
    /// <summary>Small for some streams.</summary>
    public long DecodedBytesMax => Stream % 32 == 28 ? 20 : long.MaxValue;
}

internal enum QpackStepKind
{
    Instructions,
    Section,
    Cancel,
    Acknowledge,
}

/// <summary>Decodes sections as <see cref="ReferenceQpack"/> does, in its words, by the real decoder.</summary>
internal sealed class CollectedSection : IHpackSink
{
    private readonly StringBuilder _text = new();

    public static string StateOf(QpackDecoder decoder) =>
        $"{decoder.Table.Count} {decoder.Table.Bytes} of {decoder.InsertCount}, {decoder.BlockedStreams} blocked, output "
        + Convert.ToHexString(decoder.Output);

    public static string Decode(
        QpackDecoder decoder, long stream, ReadOnlySpan<byte> section, Span<byte> scratch, long decodedBytesMax = long.MaxValue)
    {
        var fields = new CollectedSection();
        QpackResult result = decoder.Decode(stream, section, scratch, fields, decodedBytesMax);
        return $"{fields._text}{result}";
    }

    public void OnField(ReadOnlySpan<byte> name, ReadOnlySpan<byte> value, int staticIndex)
    {
        string text = Latin1.Text(name);
        string expected = staticIndex == 0 ? text : Latin1.Text(StaticTable.Name(staticIndex));
        _text.Append(text == expected ? text : $"{text} (as {expected})").Append($": {Latin1.Text(value)}\n");
    }
}
