using System.Globalization;
using Millrace.Interop.Users;

namespace Millrace.StaticFiles.Scanning;

/// <summary>The user that this process reads files as, for log lines. Any thread.</summary>
internal static class ProcessUser
{
    /// <summary>The user's number, and its name if it has one on this machine.</summary>
    public static string Describe()
    {
        string number = UserCalls.UserId.ToString(CultureInfo.InvariantCulture);
        return Environment.UserName is { Length: > 0 } name ? $"uid {number}, {name}" : $"uid {number}";
    }
}
