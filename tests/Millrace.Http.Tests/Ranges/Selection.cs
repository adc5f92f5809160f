using static Millrace.Http.RangeOutcome;

namespace Millrace.Http.Tests;

/// <summary>Range fields written as strings, and what they select written as one: <c>0-4 9-9</c>, <c>whole</c> or <c>416</c>.</summary>
internal static class Selection
{
    public static string Of(string range, long size)
    {
        var ranges = new ByteRange[ByteRanges.Max];
        RangeOutcome outcome = ByteRanges.Select(Latin1.Bytes(range), size, ranges, out int count);
        Assert.Equal(outcome == Partial, count > 0);
        return outcome switch
        {
            Partial => string.Join(' ', ranges.Take(count).Select(part => $"{part.First}-{part.Last}")),
            Whole => "whole",
            _ => "416",
        };
    }
}
