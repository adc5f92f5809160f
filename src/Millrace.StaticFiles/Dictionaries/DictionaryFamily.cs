using System.Globalization;
using System.Text;
using Millrace.StaticFiles.Rules;
using Millrace.StaticFiles.Snapshots;

namespace Millrace.StaticFiles.Dictionaries;

/// <summary>
/// Which files a file is a dictionary for: those with the same folder, stem and extension, and another content hash between them. Pure.
/// </summary>
internal static class DictionaryFamily
{
    private const int CharactersMax = 512;

    /// <summary>
    /// What URL patterns give a meaning, and browsers send as it is (URL standard, path percent-encode set). A family with these has none.
    /// </summary>
    private const string Special = ":*()+[]|^\\";

    private const string Plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.~!$&',;=@";

    /// <summary>Whether a file that may be compressed may also be sent with a dictionary.</summary>
    public static bool MayUse(SiteOptions options, Asset asset) =>
        (options.Dictionaries && ContentHashName.Of(asset.Path).Evidence != HashEvidence.None)
        || (options.PageDictionary && IsPage(asset));

    public static bool IsPage(Asset asset) => asset.ContentType.Value.StartsWith("text/html", StringComparison.Ordinal);

    /// <summary>
    /// The URL pattern of a family, which is also its name: <c>/assets/index-*.js</c>. False if a path has no hash, or a pattern cannot say
    /// it.
    /// </summary>
    public static bool TryOf(ReadOnlySpan<byte> path, out string pattern)
    {
        pattern = "";
        if (!ContentHashName.TryFindHash(path, out Range hash))
        {
            return false;
        }

        var text = new StringBuilder();
        bool isPlain = TryAppend(text, path[..hash.Start]);
        text.Append('*');
        isPlain &= TryAppend(text, path[hash.End..]);
        pattern = text.ToString();
        return isPlain && pattern.Length <= CharactersMax;
    }

    private static bool TryAppend(StringBuilder text, ReadOnlySpan<byte> path)
    {
        foreach (byte value in path)
        {
            if (Special.Contains((char)value, StringComparison.Ordinal))
            {
                return false;
            }

            _ = Plain.Contains((char)value, StringComparison.Ordinal)
                ? text.Append((char)value)
                : text.Append(CultureInfo.InvariantCulture, $"%{value:X2}");
        }

        return true;
    }
}
