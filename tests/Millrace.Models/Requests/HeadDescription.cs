using System.Text;
using Millrace.Http;

namespace Millrace.Models;

/// <summary>Everything a caller can learn from a parsed head, as text: two parsers agree when their texts are equal.</summary>
internal static class HeadDescription
{
    public static string Of(HeadResult result, RequestHead head, ReadOnlySpan<byte> bytes)
    {
        if (!result.IsComplete)
        {
            return result.IsRefused ? $"refused {result.Refusal}" : "incomplete";
        }

        var text = new StringBuilder();
        text.AppendLine($"complete {result.Consumed} {head.Method} {head.MethodText.Text(bytes)} {head.Version}");
        text.AppendLine($"{head.Target.Form} {head.Target.Text.Text(bytes)}");
        text.Append($"path {head.Target.Path.Text(bytes)} query {head.Target.Query.Text(bytes)} ");
        text.AppendLine($"authority {head.Authority.Text(bytes)}");
        text.AppendLine($"{head.Body} {head.ContentLength} keep-alive {head.KeepAlive} expect {head.ExpectContinue}");
        foreach (FieldLine line in head.Fields)
        {
            text.AppendLine($"{line.Name}|{line.NameText.Text(bytes)}|{line.Value.Text(bytes)}");
        }

        foreach (FieldName name in Enum.GetValues<FieldName>())
        {
            if (head.TryGet(name, out TextRange first))
            {
                text.Append($"{name} first {first.Text(bytes)} all");
                foreach (TextRange value in head.ValuesOf(name))
                {
                    text.Append($" <{value.Text(bytes)}>");
                }

                text.AppendLine();
            }
        }

        return text.ToString();
    }
}
