using System.ComponentModel;

namespace Millrace.StaticFiles.Archives;

/// <summary>The names and types of the formats, and the query that asks for one.</summary>
internal static class ArchiveFormatNames
{
    /// <summary>The formats in the order of their links.</summary>
    public static ReadOnlySpan<ArchiveFormats> All => [ArchiveFormats.TarGzip, ArchiveFormats.Zip];

    private static ReadOnlySpan<byte> Parameter => "archive="u8;

    /// <summary>The value of the parameter, and what follows the dot in the file's name.</summary>
    public static ReadOnlySpan<byte> Text(this ArchiveFormats format) => format switch
    {
        ArchiveFormats.TarGzip => "tar.gz"u8,
        ArchiveFormats.Zip => "zip"u8,
        _ => throw new InvalidEnumArgumentException(nameof(format), (int)format, typeof(ArchiveFormats)),
    };

    public static ReadOnlySpan<byte> ContentType(this ArchiveFormats format) =>
        format == ArchiveFormats.Zip ? "application/zip"u8 : "application/gzip"u8;

    /// <summary>The format with this text; none if there is no such format.</summary>
    public static ArchiveFormats Named(ReadOnlySpan<byte> text)
    {
        foreach (ArchiveFormats format in All)
        {
            if (text.SequenceEqual(format.Text()))
            {
                return format;
            }
        }

        return ArchiveFormats.None;
    }

    /// <summary>Whether a query asks for an archive; of several parameters the last decides. None for a format that is not known.</summary>
    public static bool TryFind(ReadOnlySpan<byte> query, out ArchiveFormats format)
    {
        format = ArchiveFormats.None;
        bool isAsked = false;
        foreach (Range part in query.Split((byte)'&'))
        {
            ReadOnlySpan<byte> parameter = query[part];
            if (parameter.StartsWith(Parameter))
            {
                isAsked = true;
                format = Named(parameter[Parameter.Length..]);
            }
        }

        return isAsked;
    }
}
