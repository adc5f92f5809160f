using System.Globalization;

namespace Millrace.Server.Terminal;

/// <summary>A number with its noun in the singular or plural.</summary>
internal static class Counted
{
    public static string Of(long count, string one) => Of(count, one, $"{one}s");

    public static string Of(long count, string one, string many) =>
        string.Create(CultureInfo.InvariantCulture, $"{count:N0} {(count == 1 ? one : many)}");
}
