using System.Diagnostics;
using System.Numerics;
using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>
/// Range fields over an array with one cell a byte: what is asked for is counted cell by cell, and the parts are its runs.
/// </summary>
internal static class ReferenceRanges
{
    public static string Select(string range, int size)
    {
        Match specifier = Regex.Match(range, @"^bytes=(.*)\z", RegexOptions.IgnoreCase | RegexOptions.Singleline);
        if (!specifier.Success || size == 0)
        {
            return "whole";
        }

        string[] elements = specifier.Groups[1].Value.Split(',');
        string[] specs = [.. elements.Select(spec => spec.Trim(' ', '\t')).Where(spec => spec != "")];
        bool[] valid = [.. specs.Select(IsValid)];
        if (elements.Length > ByteRanges.SpecsMax || specs.Length == 0 || valid.Contains(false))
        {
            return "whole";
        }

        int[][] asked = [.. specs.Select(spec => Positions(spec, size))];
        int bytes = asked.Sum(positions => positions.Length);
        if (bytes == 0)
        {
            return "416";
        }

        string[] parts = Parts(asked, size);
        Debug.Assert(parts.Length <= ByteRanges.OverlappingMax, "what is beyond it has tests of its own");
        return bytes > size ? "whole" : string.Join(' ', parts);
    }

    private static bool IsValid(string spec)
    {
        Match match = Regex.Match(spec, @"^([0-9]*)-([0-9]*)\z");
        string first = match.Groups[1].Value;
        string last = match.Groups[2].Value;
        return match.Success && spec != "-"
            && (first == "" || last == "" || BigInteger.Parse(first, null) <= BigInteger.Parse(last, null));
    }

    private static int[] Positions(string spec, int size)
    {
        (BigInteger first, BigInteger last) = spec.Split('-') switch
        {
            ["", var suffix] => (size - BigInteger.Parse(suffix, null), size),
            [var start, ""] => (BigInteger.Parse(start, null), size),
            var ends => (BigInteger.Parse(ends[0], null), BigInteger.Parse(ends[1], null)),
        };
        return [.. Enumerable.Range(0, size).Where(at => at >= first && at <= last)];
    }

    private static string[] Parts(int[][] asked, int size)
    {
        int[] firstAskedBy = [.. Enumerable.Range(0, size).Select(at => Array.FindIndex(asked, positions => positions.Contains(at)))];
        var runs = new List<(int Place, string Text)>();
        for (int first = 0; first < size; first++)
        {
            if (firstAskedBy[first] < 0)
            {
                continue;
            }

            // RFC 9110 section 15.3.7.2: what is between two costs less than another part's 80 bytes.
            int last = first;
            for (int next = first; next < size && next - last <= 80; next++)
            {
                last = firstAskedBy[next] >= 0 ? next : last;
            }

            runs.Add((firstAskedBy[first..(last + 1)].Where(static asker => asker >= 0).Min(), $"{first}-{last}"));
            first = last;
        }

        return [.. runs.OrderBy(run => run.Place).Select(run => run.Text)];
    }
}
