using Millrace.Interop.Users;

namespace Millrace.Interop.Tests.Users;

/// <summary>Looking users up. (To become one is for good: the server's tests start a process for it.)</summary>
public class UserCallsTests
{
    [Theory]
    [InlineData("root")]
    [InlineData("0")]
    public void Root_is_found_by_name_and_by_number(string name)
    {
        Assert.Equal(1, UserCalls.FindUser(name, out uint user, out uint group, out string called));
        Assert.Equal((0u, 0u, "root"), (user, group, called));
    }

    [Theory]
    [InlineData("root")]
    [InlineData("0")]
    public void So_is_the_group_of_root(string name)
    {
        Assert.Equal(1, UserCalls.FindGroup(name, out uint group));
        Assert.Equal(0u, group);
    }

    [Fact]
    public void Who_is_not_there_is_not_found()
    {
        Assert.Equal(0, UserCalls.FindUser("no-such-user", out _, out _, out _));
        Assert.Equal(0, UserCalls.FindGroup("no-such-group", out _));
    }

    [Fact]
    public void A_user_is_in_the_group_that_was_given_too() => Assert.Contains(4_711u, UserCalls.GroupsOf("root", 4_711));
}
