using System.Text;

namespace Millrace.StaticFiles.Rules;

/// <summary>
/// The fields that control whether and for how long a response may be stored: by all caches (RFC 9111), or by caches of a certain kind,
/// which obey only their own field (RFC 9213, whose field names end in Cache-Control; Surrogate-Control preceded it).
/// </summary>
internal static class CachingFields
{
    private static ReadOnlySpan<byte> CacheControl => "Cache-Control"u8;

    /// <inheritdoc cref="Contain(ReadOnlySpan{byte})"/>
    public static bool Contain(string name) => Contain(Encoding.UTF8.GetBytes(name));

    /// <summary>Whether a name, in any case, is one of these fields.</summary>
    public static bool Contain(ReadOnlySpan<byte> name) =>
        (name.Length >= CacheControl.Length && Ascii.EqualsIgnoreCase(name[^CacheControl.Length..], CacheControl))
        || Ascii.EqualsIgnoreCase(name, "Expires"u8)
        || Ascii.EqualsIgnoreCase(name, "Surrogate-Control"u8);
}
