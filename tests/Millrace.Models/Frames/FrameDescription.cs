using System.Buffers.Binary;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>What the real readers make of a frame, as text; see <see cref="ReferenceFrames"/>.</summary>
internal static class FrameDescription
{
    /// <summary>A frame whose payload is <paramref name="payload"/>, or is still missing where that is shorter than announced.</summary>
    public static string Of(FrameHeader header, ReadOnlySpan<byte> payload, int lengthMax)
    {
        Http2Fault fault = FrameRules.Check(header, lengthMax);
        return !fault.IsNone ? Text(fault)
            : payload.Length < header.Length ? "awaited"
            : OfPayload(header, payload);
    }

    private static string OfPayload(FrameHeader header, ReadOnlySpan<byte> payload)
    {
        Http2Fault fault;
        switch (header.Type)
        {
            case FrameType.Data:
                return FramePayload.TryUnpad(header, payload, out var data, out fault) ? $"data {Latin1.Text(data)}" : Text(fault);
            case FrameType.Headers:
                return FramePayload.TryUnpad(header, payload, out data, out fault) ? $"headers {Latin1.Text(data)}" : Text(fault);
            case FrameType.Continuation:
                return $"more {Latin1.Text(payload)}";
            case FrameType.Priority:
                return "priority";
            case FrameType.RstStream:
                return $"reset {BinaryPrimitives.ReadUInt32BigEndian(payload)}";
            case FrameType.Settings:
                return Text(new SettingList(payload));
            case FrameType.Ping:
                return $"ping {Latin1.Text(payload)}";
            case FrameType.GoAway:
                int last = BinaryPrimitives.ReadInt32BigEndian(payload) & int.MaxValue;
                return $"goaway {last} {BinaryPrimitives.ReadUInt32BigEndian(payload[4..])}";
            case FrameType.WindowUpdate:
                return FramePayload.TryWindowUpdate(header, payload, out int increment, out fault) ? $"window {increment}" : Text(fault);
            case FrameType.PriorityUpdate:
                return FramePayload.TryPriorityUpdate(header, payload, out int stream, out data, out fault)
                    ? $"update {stream} {Latin1.Text(data)}"
                    : Text(fault);
            default:
                return "ignored";
        }
    }

    private static string Text(Http2Fault fault) => $"fault {fault.Error} {fault.Scope}";

    private static string Text(SettingList list)
    {
        string text = "settings";
        foreach (Setting setting in list)
        {
            if (!setting.Fault.IsNone)
            {
                return Text(setting.Fault);
            }

            text += $" {(int)setting.Id}={setting.Value}";
        }

        return text;
    }
}
