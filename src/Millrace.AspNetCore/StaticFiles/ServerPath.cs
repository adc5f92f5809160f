using Microsoft.AspNetCore.Http;

namespace Millrace.AspNetCore.StaticFiles;

/// <summary>
/// Decodes a path as ASP.NET Core's servers do: an invalid escape and "%2F" stay unchanged; then dot segments are resolved, and those that
/// lead above the root are dropped. Used only to detect whether middleware has changed the path.
/// </summary>
internal static class ServerPath
{
    public static string Decode(ReadOnlySpan<char> path)
    {
        string decoded = PathString.FromUriComponent(path.ToString()).Value ?? "";
        var segments = new List<string>();
        string[] read = decoded.Split('/')[1..];
        for (int i = 0; i < read.Length; i++)
        {
            bool isDots = read[i] is "." or "..";
            if (read[i] == ".." && segments.Count > 0)
            {
                segments.RemoveAt(segments.Count - 1);
            }

            if (!isDots)
            {
                segments.Add(read[i]);
            }
            else if (i == read.Length - 1)
            {
                segments.Add("");
            }
        }

        return "/" + string.Join('/', segments);
    }
}
