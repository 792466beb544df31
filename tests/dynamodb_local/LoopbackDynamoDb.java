import com.amazonaws.services.dynamodbv2.local.main.ServerRunner;
import com.amazonaws.services.dynamodbv2.local.server.DynamoDBProxyServer;
import java.lang.reflect.Field;
import org.eclipse.jetty.server.Connector;
import org.eclipse.jetty.server.NetworkConnector;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;

/**
 * DynamoDB Local that listens on 127.0.0.1 only, on a port the system picks.
 *
 * <p>ServerRunner has no option for the address and takes every interface, so the address is set on
 * its connectors before they open. Prints the port on one line and ends when standard input does,
 * so that it never outlives the tests that started it.
 */
public final class LoopbackDynamoDb {
  private LoopbackDynamoDb() {}

  public static void main(String[] arguments) throws Exception {
    DynamoDBProxyServer proxy = ServerRunner.createServerFromCommandLineArgs(arguments);
    Field inner = DynamoDBProxyServer.class.getDeclaredField("server");
    inner.setAccessible(true);
    Server server = (Server) inner.get(proxy);
    for (Connector connector : server.getConnectors()) {
      ServerConnector listener = (ServerConnector) connector;
      listener.setHost("127.0.0.1");
      listener.setPort(0);
    }
    proxy.start();
    System.out.println("port " + ((NetworkConnector) server.getConnectors()[0]).getLocalPort());
    System.out.flush();
    while (System.in.read() >= 0) {}
    proxy.stop();
    System.exit(0);
  }
}
