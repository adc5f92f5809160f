using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>Everything a caller can learn from a response's parsed head, as text: two parsers agree when their texts are equal.</summary>
internal static class ResponseDescription
{
    public static string Of(HeadResult result, ResponseHead head, ReadOnlySpan<byte> bytes)
    {
        if (!result.IsComplete)
        {
            return result.IsRefused ? $"refused {result.Refusal}" : "incomplete";
        }

        var text = new StringBuilder();
        text.AppendLine($"complete {result.Consumed} {head.Version} {head.Status} {head.Reason.Text(bytes)}");
        text.AppendLine($"{head.Body} {head.ContentLength} keep-alive {head.KeepAlive}");
        foreach (FieldLine line in head.Fields)
        {
            text.AppendLine($"{line.NameText.Text(bytes)}|{line.Value.Text(bytes)}");
        }

        return text.ToString();
    }
}
