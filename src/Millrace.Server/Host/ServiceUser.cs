using Millrace.Interop;
using Millrace.Interop.Users;

namespace Millrace.Server.Host;

/// <summary>The user and group that a process changes to, from <c>NAME[:GROUP]</c>, each a name or a number.</summary>
/// <param name="Text">The configured text.</param>
/// <param name="Id">The user's ID.</param>
/// <param name="Group">The group's ID.</param>
/// <param name="Groups">All groups of the user; only that group if it was configured.</param>
internal sealed record ServiceUser(string Text, uint Id, uint Group, IReadOnlyList<uint> Groups)
{
    /// <summary>Whether the process already runs as this user and group.</summary>
    public bool IsOwn => UserCalls.UserId == Id && UserCalls.GroupId == Group;

    /// <exception cref="ServiceException">There is no such user or group.</exception>
    public static ServiceUser Find(string text)
    {
        int colon = text.IndexOf(':', StringComparison.Ordinal);
        string name = colon < 0 ? text : text[..colon];
        Require(UserCalls.FindUser(name, out uint id, out uint group, out string called), "user", name);
        if (colon >= 0)
        {
            Require(UserCalls.FindGroup(text[(colon + 1)..], out group), "group", text[(colon + 1)..]);
            return new ServiceUser(text, id, group, [group]);
        }

        return new ServiceUser(text, id, group, UserCalls.GroupsOf(called, group));
    }

    private static void Require(int found, string kind, string name)
    {
        if (found <= 0)
        {
            string reason = found < 0 ? $"cannot be looked up as a {kind} ({Errno.Describe(found)})" : $"is not a known {kind}";
            throw new ServiceException($"'{name}' {reason}: use --user NAME[:GROUP].");
        }
    }
}
