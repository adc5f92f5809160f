using System.Diagnostics.CodeAnalysis;
using System.Globalization;
using System.Text;

namespace Millrace.Http;

/// <summary>
/// Converts a domain name from its written form to the A-labels that clients send (IDNA, RFC 5890 section 2.3.2.1). For configuration, not
/// for requests. Any thread.
/// </summary>
/// <remarks>
/// The runtime encodes labels without ICU as well, but then neither maps nor normalizes. So letters are converted to lower case here, and a
/// name that normalization would change is refused: a client would send another name.
/// </remarks>
internal static class DomainName
{
    private static readonly IdnMapping Mapping = new() { UseStd3AsciiRules = false, AllowUnassigned = false };

    /// <summary>
    /// Letters, digits and marks that NFKC maps to others, of Unicode 15; and the marks and Hangul letters that it composes with preceding
    /// ones. Between the two ends of a range there is nothing that may be encoded.
    /// </summary>
    private static readonly (int First, int Last)[] Unnormalized =
    [
        (0xAA, 0xBA), (0x133, 0x133), (0x140, 0x140), (0x149, 0x149), (0x17F, 0x17F), (0x1C6, 0x1CC), (0x1F3, 0x1F3), (0x2B0, 0x2B8),
        (0x2E0, 0x2E4), (0x300, 0x36F), (0x374, 0x374), (0x37A, 0x37A), (0x3D0, 0x3D6), (0x3F0, 0x3F2), (0x3F5, 0x3F5), (0x587,
        0x587), (0x653, 0x655), (0x675, 0x678), (0x958, 0x95F), (0x9DC, 0x9DF), (0xA33, 0xA33), (0xA36, 0xA36), (0xA59, 0xA5B),
        (0xA5E, 0xA5E), (0xB5C, 0xB5D), (0xE33, 0xE33), (0xEB3, 0xEB3), (0xEDC, 0xEDD), (0xF43, 0xF43), (0xF4D, 0xF4D), (0xF52,
        0xF52), (0xF57, 0xF57), (0xF5C, 0xF5C), (0xF69, 0xF69), (0xF73, 0xF73), (0xF75, 0xF79), (0xF81, 0xF81), (0xF93, 0xF93),
        (0xF9D, 0xF9D), (0xFA2, 0xFA2), (0xFA7, 0xFA7), (0xFAC, 0xFAC), (0xFB9, 0xFB9), (0x10FC, 0x10FC), (0x1100, 0x11FF), (0x1D2C,
        0x1D2E), (0x1D30, 0x1D3A), (0x1D3C, 0x1D4D), (0x1D4F, 0x1D6A), (0x1D78, 0x1D78), (0x1D9B, 0x1DBF), (0x1E9A, 0x1E9B), (0x1F71,
        0x1F71), (0x1F73, 0x1F73), (0x1F75, 0x1F75), (0x1F77, 0x1F77), (0x1F79, 0x1F79), (0x1F7B, 0x1F7B), (0x1F7D, 0x1F7D), (0x1FBE,
        0x1FBE), (0x1FD3, 0x1FD3), (0x1FE3, 0x1FE3), (0x2071, 0x209C), (0x210A, 0x2149), (0x2C7C, 0x2C7D), (0x2D6F, 0x2D6F), (0x3099,
        0x309A), (0x309F, 0x309F), (0x30FF, 0x30FF), (0x3131, 0x318E), (0xA69C, 0xA69D), (0xA770, 0xA770), (0xA7F2, 0xA7F4), (0xA7F8,
        0xA7F9), (0xAB5C, 0xAB5F), (0xAB69, 0xAB69), (0xF900, 0xFA0D), (0xFA10, 0xFA10), (0xFA12, 0xFA12), (0xFA15, 0xFA1E), (0xFA20,
        0xFA20), (0xFA22, 0xFA22), (0xFA25, 0xFA26), (0xFA2A, 0xFB1D), (0xFB1F, 0xFDFB), (0xFE70, 0xFE72), (0xFE74, 0xFFDC),
        (0x10781, 0x107BA), (0x1D41A, 0x1D7FF), (0x1EE00, 0x1FBF9), (0x2F800, 0x2FA1D),
    ];

    /// <summary>
    /// Returns the name in ASCII, unchanged if it is ASCII already. False if it cannot be encoded; the problem is a clause that gives the
    /// reason.
    /// </summary>
    public static bool TryEncode(string name, [NotNullWhen(true)] out string? ascii, [NotNullWhen(false)] out string? problem)
    {
        problem = null;
        ascii = name;
        if (Ascii.IsValid(name))
        {
            return true;
        }

        ascii = null;
        string lower = name.ToLowerInvariant();
        foreach (Rune rune in lower.EnumerateRunes())
        {
            if (!rune.IsAscii && !IsCoded(rune))
            {
                problem = string.Create(CultureInfo.InvariantCulture, $"U+{rune.Value:X4} in it has no coding without normalization");
                return false;
            }
        }

        try
        {
            ascii = Mapping.GetAscii(lower);
            return true;
        }
        catch (ArgumentException)
        {
            problem = "a label of it is empty, longer than 63 bytes when it is coded, or is not IDNA's";
            return false;
        }
    }

    /// <summary>Letters, digits and marks that IDNA 2008 allows (RFC 5892), in their only form.</summary>
    private static bool IsCoded(Rune rune)
    {
        if (Unnormalized.Any(block => rune.Value >= block.First && rune.Value <= block.Last))
        {
            return false;
        }

        // The ideographic full stop is a dot (RFC 3490 section 3.1).
        return rune.Value == 0x3002 || Rune.GetUnicodeCategory(rune) is UnicodeCategory.LowercaseLetter or UnicodeCategory.OtherLetter
            or UnicodeCategory.ModifierLetter or UnicodeCategory.DecimalDigitNumber
            or UnicodeCategory.NonSpacingMark or UnicodeCategory.SpacingCombiningMark;
    }
}
