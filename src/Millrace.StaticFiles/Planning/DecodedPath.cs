using Millrace.Http;

namespace Millrace.StaticFiles.Planning;

/// <summary>The path of a request in the forms that planning needs. Refers to the request and to the scratch memory.</summary>
internal readonly ref struct DecodedPath
{
    private DecodedPath(ReadOnlySpan<byte> ofFile, ReadOnlySpan<byte> forRules)
    {
        OfFile = ofFile;
        ForRules = forRules;
    }

    /// <summary>The decoded path of a file; if no file can have it (see <see cref="NamesFile"/>), the path as sent, for an error.</summary>
    public ReadOnlySpan<byte> OfFile { get; }

    /// <summary>
    /// The path that rules about access and applications match: decoded, slashes merged, and with "%2F" as a slash, which most applications
    /// take for one. Empty if the path has several meanings, or none: such a request is not passed on.
    /// </summary>
    public ReadOnlySpan<byte> ForRules { get; }

    /// <summary>The path that rules about access match.</summary>
    public ReadOnlySpan<byte> ForAccess => ForRules.IsEmpty ? OfFile : ForRules;

    public bool NamesFile { get; private init; }

    /// <summary>Whether it has no meaning at all: 400.</summary>
    public bool IsMalformed { get; private init; }

    /// <summary>How many slashes the path had before they were merged; 0 if none were.</summary>
    public int SlashesAsSent { get; private init; }

    public static DecodedPath Decode(ReadOnlySpan<byte> sent, bool mergeSlashes, PlanScratch scratch)
    {
        Span<byte> room = scratch.PathRoom(sent.Length);
        switch (TargetPath.Decode(sent, room, out ReadOnlySpan<byte> path))
        {
            case PathResult.Ok:
                return new DecodedPath(path, path) { NamesFile = true };
            case PathResult.EmptySegment:
                int slashes = path.Count((byte)'/');
                path = room[..TargetPath.MergeSlashes(path, room)];
                return mergeSlashes
                    ? new DecodedPath(path, path) { NamesFile = true, SlashesAsSent = slashes }
                    : new DecodedPath(AsSent(sent), path);
            case PathResult.SlashInSegment when TargetPath.TryDecodeSlashes(sent, room, out path):
                return new DecodedPath(AsSent(sent), room[..TargetPath.MergeSlashes(path, room)]);
            case PathResult.SlashInSegment:
                return new DecodedPath(AsSent(sent), default);
            default:
                return new DecodedPath(AsSent(sent), default) { IsMalformed = true };
        }
    }

    /// <summary>The path for the fields of a refused request: the fields of "/*" apply to its error page, too.</summary>
    private static ReadOnlySpan<byte> AsSent(ReadOnlySpan<byte> path) => path is [(byte)'/', ..] ? path : "/"u8;
}
