using System.Text.RegularExpressions;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>A slow decoder of paths: strings, regular expressions and a list of segments, one step after the other.</summary>
internal static class ReferencePath
{
    public static (PathResult Result, string? Path) Decode(string raw)
    {
        raw = raw == "" ? "/" : raw;
        if (Regex.IsMatch(raw, "%(?![0-9A-Fa-f]{2})"))
        {
            return (PathResult.BadEscape, null);
        }

        if (raw.Contains("%00", StringComparison.Ordinal))
        {
            return (PathResult.NulByte, null);
        }

        if (raw.Contains("%2f", StringComparison.OrdinalIgnoreCase))
        {
            return (PathResult.SlashInSegment, null);
        }

        string decoded = Regex.Replace(raw, "%(..)", escape => ((char)Convert.ToByte(escape.Groups[1].Value, 16)).ToString());
        string[] segments = decoded.Split('/')[1..];
        var kept = new List<string>();
        foreach (string segment in segments)
        {
            if (segment == "..")
            {
                if (kept.Count == 0)
                {
                    return (PathResult.OutsideRoot, null);
                }

                kept.RemoveAt(kept.Count - 1);
            }
            else if (segment != ".")
            {
                kept.Add(segment);
            }
        }

        if (segments[^1] is "." or "..")
        {
            kept.Add("");
        }

        string path = "/" + string.Join('/', kept);
        return (path.Contains("//", StringComparison.Ordinal) ? PathResult.EmptySegment : PathResult.Ok, path);
    }
}
