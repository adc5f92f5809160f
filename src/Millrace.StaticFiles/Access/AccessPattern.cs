using System.Buffers;
using System.Text;
using Millrace.StaticFiles.Planning;
using Millrace.StaticFiles.Rules;

namespace Millrace.StaticFiles.Access;

/// <summary>The paths of a rule about access, for the path as it is and for its folded form. Immutable.</summary>
internal sealed class AccessPattern
{
    /// <summary>The pattern of a rule for all paths.</summary>
    public static readonly AccessPattern All = new(null, null);

    private readonly PathPattern? _exact;
    private readonly PathPattern? _folded;

    private AccessPattern(PathPattern? exact, PathPattern? folded) => (_exact, _folded) = (exact, folded);

    public bool IsForAll => _exact is null;

    /// <summary>Throws <see cref="SiteException"/> for a text that is not a pattern.</summary>
    public static AccessPattern Parse(string glob) => glob == "*" ? All : new AccessPattern(
        PathPattern.Parse(glob, PatternSyntax.Glob), PathPattern.Parse(glob, PatternSyntax.FoldedGlob));

    /// <summary>Whether the rule is for a reading of a path. One that does not exist is covered by nothing.</summary>
    public bool Covers(scoped in PathReadings readings, int index)
    {
        ReadOnlySpan<byte> reading = readings[index];
        return _exact is null
            ? index == 0 || !reading.IsEmpty
            : !reading.IsEmpty && (PathReadings.IsFolded(index) ? _folded! : _exact).IsMatch(reading);
    }
}

/// <summary>
/// The ways in which a file system or an application may read a path: as it is, without regard to case, with and without the slash at its
/// end, and, for a precompressed sibling, as the file that it is a form of. A request needs what each of them needs, so that no other
/// spelling leads around a rule. Refers to scratch memory.
/// </summary>
internal readonly ref struct PathReadings
{
    private readonly ReadOnlySpan<byte> _exact;
    private readonly ReadOnlySpan<byte> _folded;
    private readonly int _exactCoding;
    private readonly int _foldedCoding;

    /// <param name="path">A decoded path, with merged slashes.</param>
    /// <param name="scratch">Holds the readings until the next ones are made.</param>
    public PathReadings(scoped ReadOnlySpan<byte> path, PlanScratch scratch)
    {
        // Each with a slash at the end, which the reading without one leaves out.
        Span<byte> room = scratch.ReadingsRoom(((CaseFolding.BytesMaxPerByte + 1) * path.Length) + 2);
        path.CopyTo(room);
        room[path.Length] = (byte)'/';
        Span<byte> foldedRoom = room[(path.Length + 1)..];
        int folded = CaseFolding.Fold(path, foldedRoom);
        foldedRoom[folded] = (byte)'/';
        _exact = room[..(path.Length + 1)];
        _folded = foldedRoom[..(folded + 1)];
        _exactCoding = CodingSuffixBytes(path);
        _foldedCoding = CodingSuffixBytes(foldedRoom[..folded]);
    }

    /// <summary>The number of readings; those that do not exist are empty.</summary>
    public static int Count => 6;

    public static bool IsFolded(int index) => index % 2 != 0;

    public ReadOnlySpan<byte> this[int index]
    {
        get
        {
            ReadOnlySpan<byte> withSlash = IsFolded(index) ? _folded : _exact;
            if (withSlash.IsEmpty)
            {
                return default;
            }

            ReadOnlySpan<byte> path = withSlash[..^1];
            int coding = IsFolded(index) ? _foldedCoding : _exactCoding;
            return (index / 2) switch
            {
                0 => path,
                1 => path is [.., (byte)'/'] ? path[..^1] : withSlash,
                _ => coding > 0 ? path[..^coding] : default,
            };
        }
    }

    private static int CodingSuffixBytes(ReadOnlySpan<byte> path) =>
        path.EndsWith(".gz"u8) || path.EndsWith(".br"u8) ? 3 : path.EndsWith(".zst"u8) ? 4 : 0;
}

/// <summary>
/// Folds the case of UTF-8 as .NET's OrdinalIgnoreCase does, by which ASP.NET Core compares paths. Bytes that are not UTF-8 stay.
/// </summary>
internal static class CaseFolding
{
    /// <summary>A character of two bytes may become one of three.</summary>
    public const int BytesMaxPerByte = 2;

    public static byte[] Fold(ReadOnlySpan<byte> text)
    {
        byte[] folded = new byte[BytesMaxPerByte * text.Length];
        return folded[..Fold(text, folded)];
    }

    /// <summary>Writes the folded text, and returns its length.</summary>
    public static int Fold(scoped ReadOnlySpan<byte> text, Span<byte> destination)
    {
        int written = 0;
        while (!text.IsEmpty)
        {
            if (text[0] < 0x80)
            {
                destination[written++] = text[0] is >= (byte)'A' and <= (byte)'Z' ? (byte)(text[0] | 0x20) : text[0];
                text = text[1..];
                continue;
            }

            if (Rune.DecodeFromUtf8(text, out Rune rune, out int consumed) == OperationStatus.Done)
            {
                written += Rune.ToUpperInvariant(rune).EncodeToUtf8(destination[written..]);
            }
            else
            {
                text[..consumed].CopyTo(destination[written..]);
                written += consumed;
            }

            text = text[consumed..];
        }

        return written;
    }
}
