using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields that say whether and for how long an answer may be stored: by anybody (RFC 9111), or by caches of a certain kind, which heed
/// theirs alone (RFC 9213, which has them end in Cache-Control; Surrogate-Control came before it).
/// </summary>
internal static class StoringFields
{
    private static ReadOnlySpan<byte> CacheControl => "Cache-Control"u8;

    /// <inheritdoc cref="Contain(ReadOnlySpan{byte})"/>
    public static bool Contain(string name) => Contain(Encoding.UTF8.GetBytes(name));

    /// <summary>Whether a name, in whatever case it was written, is one of theirs.</summary>
    public static bool Contain(ReadOnlySpan<byte> name) =>
        (name.Length >= CacheControl.Length && Ascii.EqualsIgnoreCase(name[^CacheControl.Length..], CacheControl))
        || Ascii.EqualsIgnoreCase(name, "Expires"u8)
        || Ascii.EqualsIgnoreCase(name, "Surrogate-Control"u8);
}
