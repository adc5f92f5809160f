using System.Buffers;
using System.Globalization;
using System.Text;
using Millrace.Http;

namespace Millrace.StaticFiles.Listings;

/// <summary>Writes file names into an HTML page: any bytes become text or a reference, and nothing else.</summary>
internal static class ListingText
{
    /// <summary>Printable ASCII without a special meaning in HTML text and quoted attributes.</summary>
    private static readonly SearchValues<byte> Plain =
        SearchValues.Create([.. Enumerable.Range(0x20, 0x5f).Select(value => (byte)value).Where(value => !"&<>\"'".Contains((char)value))]);

    /// <summary>
    /// Writes UTF-8 text. Invalid bytes, and characters that change the writing direction ("exe.gpj" for "jpg.exe"), become U+FFFD; control
    /// characters become their symbols.
    /// </summary>
    public static void WriteText(this IBufferWriter<byte> page, ReadOnlySpan<byte> text)
    {
        while (!text.IsEmpty)
        {
            int plainBytes = text.IndexOfAnyExcept(Plain);
            if (plainBytes != 0)
            {
                plainBytes = plainBytes < 0 ? text.Length : plainBytes;
                page.Write(text[..plainBytes]);
                text = text[plainBytes..];
                continue;
            }

            _ = Rune.DecodeFromUtf8(text, out Rune rune, out int runeBytes);
            page.WriteRune(rune);
            text = text[runeBytes..];
        }
    }

    /// <summary>
    /// Writes a reference to an entry of the listed directory. It starts with "./" because a name may look like a scheme ("javascript:x").
    /// Encoding more than necessary costs nothing, and needs no second escaping for HTML.
    /// </summary>
    public static void WriteReference(this IBufferWriter<byte> page, ReadOnlySpan<byte> name)
    {
        page.Write("./"u8);
        Span<byte> room = page.GetSpan(PercentEncoding.BytesMaxPerByte * name.Length);
        page.Advance(PercentEncoding.Encode(name, ByteClasses.Unreserved, room));
    }

    public static void WriteNumber(this IBufferWriter<byte> page, long number, ReadOnlySpan<char> format = default)
    {
        _ = number.TryFormat(page.GetSpan(32), out int bytes, format, CultureInfo.InvariantCulture);
        page.Advance(bytes);
    }

    /// <summary>Writes a size for human readers: "1.5 MiB".</summary>
    public static void WriteSize(this IBufferWriter<byte> page, long bytes)
    {
        if (bytes < 1024)
        {
            page.WriteNumber(bytes);
            page.Write(" B"u8);
            return;
        }

        // In tenths, rounded: 1,048,575 bytes are 1.0 MiB, not 1024.0 KiB.
        decimal tenths = decimal.Round(bytes * 10m / 1024);
        int unit = 0;
        while (tenths >= 10240)
        {
            unit++;
            tenths = decimal.Round(bytes * 10m / (1L << (10 * (unit + 1))));
        }

        page.WriteNumber((long)tenths / 10);
        page.Write("."u8);
        page.WriteNumber((long)tenths % 10);
        page.Write(unit switch
        {
            0 => " KiB"u8,
            1 => " MiB"u8,
            2 => " GiB"u8,
            3 => " TiB"u8,
            4 => " PiB"u8,
            _ => " EiB"u8,
        });
    }

    private static void WriteRune(this IBufferWriter<byte> page, Rune rune)
    {
        switch (rune.Value)
        {
            case '&':
                page.Write("&amp;"u8);
                break;
            case '<':
                page.Write("&lt;"u8);
                break;
            case '>':
                page.Write("&gt;"u8);
                break;
            case '"':
                page.Write("&quot;"u8);
                break;
            case '\'':
                page.Write("&#39;"u8);
                break;
            default:
                page.Advance(Visible(rune).EncodeToUtf8(page.GetSpan(4)));
                break;
        }
    }

    private static Rune Visible(Rune rune) => rune.Value switch
    {
        < 0x20 => new Rune(0x2400 + rune.Value),
        0x7f => new Rune(0x2421),
        >= 0x80 and < 0xa0 => Rune.ReplacementChar,
        >= 0x202a and <= 0x202e => Rune.ReplacementChar,
        >= 0x2066 and <= 0x2069 => Rune.ReplacementChar,

        // Noncharacters, which HTML and XML parsers reject.
        >= 0xfdd0 and <= 0xfdef => Rune.ReplacementChar,
        int value when (value & 0xfffe) == 0xfffe => Rune.ReplacementChar,
        _ => rune,
    };
}
