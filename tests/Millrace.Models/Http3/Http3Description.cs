using System.Globalization;
using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>What the real readers make of a stream that comes in pieces, as text; see <see cref="ReferenceHttp3"/>.</summary>
internal static class Http3Description
{
    public static string Frames(ReadOnlySpan<byte> bytes, int kind, Func<int> pieceBytes)
    {
        var reader = new Http3FrameReader((Http3StreamKind)kind);
        var text = new StringBuilder();
        for (int at = 0; at < bytes.Length;)
        {
            int length = Math.Min(pieceBytes(), bytes.Length - at);
            ReadOnlySpan<byte> piece = bytes.Slice(at, length);
            at += length;
            Http3FrameEvent frame;
            do
            {
                frame = reader.Read(piece, out int consumed, out ReadOnlySpan<byte> payload);
                piece = piece[consumed..];
                switch (frame)
                {
                    case Http3FrameEvent.Begin:
                        text.Append(CultureInfo.InvariantCulture, $"{(long)reader.Type} {reader.Length} ");
                        text.Append(reader.IsKnown ? "" : "skipped");
                        break;
                    case Http3FrameEvent.Payload:
                        text.Append(Latin1.Text(payload));
                        break;
                    case Http3FrameEvent.End:
                        text.Append('\n');
                        break;
                    case Http3FrameEvent.Error:
                        return $"{text}error {reader.Error:x}";
                }
            }
            while (frame != Http3FrameEvent.NeedMore);

            if (piece.Length > 0)
            {
                return "input is left";
            }
        }

        // A frame whose payload has not ended has no line end yet.
        string said = text.ToString();
        string separator = said.Length == 0 || reader.Left == 0 ? "" : "\n";
        return $"{said}{separator}{(reader.IsWithinFrame ? "within" : "between")} {reader.ErrorOfEnd:x}";
    }

    public static string Control(ReadOnlySpan<byte> bytes, bool isServer, Func<int> pieceBytes)
    {
        var reader = new Http3ControlReader(isServer);
        var text = new StringBuilder();
        for (int at = 0; at < bytes.Length;)
        {
            int length = Math.Min(pieceBytes(), bytes.Length - at);
            ReadOnlySpan<byte> piece = bytes.Slice(at, length);
            at += length;
            Http3ControlEvent said;
            while ((said = reader.Read(piece, out int consumed)) != Http3ControlEvent.NeedMore)
            {
                piece = piece[consumed..];
                text.Append(said switch
                {
                    Http3ControlEvent.Error => $"Error {reader.Error:x}",
                    Http3ControlEvent.Settings => Settings(reader.Settings),
                    Http3ControlEvent.PriorityUpdate => $"PriorityUpdate {reader.Id} {reader.Priority}\n",
                    Http3ControlEvent.Unknown => "Unknown\n",
                    _ => $"{said} {reader.Id}\n",
                });
                if (said == Http3ControlEvent.Error)
                {
                    return text.ToString();
                }
            }
        }

        return $"{text}NeedMore";
    }

    private static string Settings(in Http3Settings settings) => string.Create(
        CultureInfo.InvariantCulture,
        $"Settings {settings.TableBytesMax} {settings.SectionBytesMax} {settings.BlockedStreamsMax} {(settings.EnablesConnect ? 1 : 0)}\n");
}
