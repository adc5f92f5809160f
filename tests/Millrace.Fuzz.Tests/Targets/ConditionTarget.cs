using Millrace.Fuzz.Tests.Kit;
using Millrace.Http;

namespace Millrace.Fuzz.Tests.Targets;

/// <summary>Conditions of a request (RFC 9110 section 13): a value as each of its five fields, against several representations.</summary>
internal sealed class ConditionTarget : FuzzTarget
{
    private static readonly Conditional[] Representations =
    [
        new(), new() { Tag = "W/\"x\"" }, new() { Tag = "\"a,b\"" }, new() { Tag = "" },
        new() { LastModified = Validators.NoDate }, new() { IsDateStrong = false },
    ];

    public override string Name => "condition";

    public override int InputBytesMax => 128;

    public override int OutcomesMin => 6;

    public override IReadOnlyList<string> Words =>
    [
        "\"x\"", "W/\"x\"", "w/\"x\"", "\"a,b\"", "\"\"", "*", ",", ", ", "\"", "W/", "\t", Conditional.Earlier, Conditional.Equal,
        Conditional.Later, "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "\x80",
    ];

    public override byte[] Generate(Random random)
    {
        IEnumerable<string> tags = Enumerable.Range(0, random.Next(5)).Select(_ =>
            random.Pick("\"x\"", "W/\"x\"", "\"a,b\"", "\"y\"", "W/\"\"", "*", ""));
        return Latin1.Bytes(random.Next(3) == 0
            ? random.Pick(Conditional.Earlier, Conditional.Equal, Conditional.Later, "Sun Nov  6 08:49:37 1994")
            : string.Join(random.Pick(",", ", ", " , "), tags));
    }

    public override string Check(ReadOnlySpan<byte> input)
    {
        string value = Latin1.Text(input);
        if (value == "")
        {
            // An empty value is how fields that are absent are told.
            return "absent";
        }

        string outcome = "";
        foreach (Conditional representation in Representations)
        {
            Conditional[] asked =
            [
                representation with { IfMatch = value },
                representation with { IfNoneMatch = value },
                representation with { IfModifiedSince = value },
                representation with { IfUnmodifiedSince = value },
                representation with { IfNoneMatch = "\"y\"", IfModifiedSince = value },
                representation with { IfMatch = "\"x\"", IfUnmodifiedSince = value },
            ];
            foreach (Conditional request in asked)
            {
                PreconditionOutcome judged = request.Evaluate();
                Agree($"{ReferenceConditions.Evaluate(request)}", $"{judged}", $"{request}");
                outcome += (int)judged;
            }

            Conditional range = representation with { IfRange = value };
            Agree($"{ReferenceConditions.RangeApplies(range)}", $"{range.RangeApplies()}", $"{range}");
            outcome += range.RangeApplies() ? "r" : "-";
        }

        CheckGuarded(input);
        return outcome;
    }

    /// <summary>The same readers on the guarded bytes themselves: a <see cref="Conditional"/> holds copies.</summary>
    private static void CheckGuarded(ReadOnlySpan<byte> input)
    {
        _ = EntityTags.Matches(input, "\"x\""u8, TagComparison.Strong);
        _ = EntityTags.AreEqual(input, "\"x\""u8, TagComparison.Weak);
        bool isDate = HttpDate.TryParse(input, 0, out _);
        Require(!isDate || !EntityTags.AreEqual(input, input, TagComparison.Strong) || input[0] != '"', "a value is a date and a tag");
    }
}
