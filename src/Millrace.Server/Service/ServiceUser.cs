using Millrace.Interop;
using Millrace.Interop.Users;

namespace Millrace.Server.Service;

/// <summary>As whom a process is to go on, found by <c>NAME[:GROUP]</c>, each a name or a number.</summary>
/// <param name="Text">What was asked for.</param>
/// <param name="Id">The user's number.</param>
/// <param name="Group">The group's number.</param>
/// <param name="Groups">All groups; just that one where it was asked for.</param>
internal sealed record ServiceUser(string Text, uint Id, uint Group, IReadOnlyList<uint> Groups)
{
    /// <summary>Whether the process is that one already.</summary>
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
            string reason = found < 0 ? $" can be looked up: {Errno.Describe(found)}" : " is known here";
            throw new ServiceException($"No {kind} '{name}'{reason}: give --user NAME[:GROUP].");
        }
    }
}
